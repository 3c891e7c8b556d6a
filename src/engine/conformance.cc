#include "engine/conformance.h"

#include <utility>

#include "engine/conformance_book.h"
#include "engine/conformance_checks.h"
#include "engine/conformance_plain.h"
#include "engine/conformance_probe.h"

namespace holdfast::engine {

namespace {

// Kinds that find much for their cost come first.
ConformanceReport run_check(Engine& engine, const ConformanceOptions& options, CheckMode mode) {
  EngineProbe probe(engine, options);
  KindBook book(probe, options, mode);
  PlainWay plain(probe, options, book);
  const CheckParts parts{probe, plain, book};
  add_beginning_kind(parts);
  if (probe.rows() > 0) {
    plain.add_kinds();
    add_fullest_step_kinds(parts);
    add_restored_kinds(parts);
    add_taken_back_kinds(parts);
    add_step_kinds(parts);
    add_chunk_kinds(parts);
  }
  if (mode == CheckMode::kCompute) {
    for (int i = 0; i < engine.slot_count(); ++i) engine.clear(SlotId{i});
  }
  return book.close();
}

}  // namespace

std::vector<std::string> conformance_kinds(Engine& engine, const ConformanceOptions& options) {
  std::vector<std::string> names;
  for (CheckedKind& kind : run_check(engine, options, CheckMode::kList).kinds) {
    names.push_back(std::move(kind.name));
  }
  return names;
}

ConformanceReport check_conformance(Engine& engine, const ConformanceOptions& options) {
  return run_check(engine, options, CheckMode::kCompute);
}

}  // namespace holdfast::engine
