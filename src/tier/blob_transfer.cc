#include "tier/blob_transfer.h"

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <tuple>

#include "base/check.h"

namespace holdfast::tier {

namespace {

using Json = nlohmann::json;

// --- the note: what is said of the spaces ------------------------------------------------

// Few caches have more, and a hostile note is not to cost more memory than a blob.
constexpr std::size_t kNotesMax = 64;

std::string notes_text(const std::map<SpaceKey, SpaceNote>& notes,
                       const std::vector<BlobSummary>& blobs) {
  Json spaces = Json::object();
  for (const BlobSummary& blob : blobs) {
    const auto found = notes.find(blob.space);
    if (found != notes.end() && spaces.size() < kNotesMax)
      spaces[hex_of(blob.space)] = Json::parse(note_text(found->second));
  }
  return spaces.empty() ? "" : Json{{"spaces", std::move(spaces)}}.dump();
}

std::string text_at(const Json& json, const char* key) {
  const auto found = json.find(key);
  return found != json.end() && found->is_string() ? found->get<std::string>() : "";
}

// Whatever cannot be understood is left.
std::map<SpaceKey, SpaceNote> read_notes(std::span<const std::byte> text) {
  std::map<SpaceKey, SpaceNote> notes;
  if (text.size() > kNotesMax * kNoteBytesMax) return notes;
  const auto* const begin = reinterpret_cast<const char*>(text.data());
  const Json json = Json::parse(begin, begin + text.size(), nullptr, false);
  if (!json.is_object()) return notes;
  const auto spaces = json.find("spaces");
  if (spaces == json.end() || !spaces->is_object()) return notes;
  for (const auto& [name, value] : spaces->items()) {
    const auto space = space_from_hex(name);
    if (!space || !value.is_object()) continue;
    const auto tenant = value.find("tenant");
    const bool shared = tenant == value.end() || *tenant != true;
    notes.emplace(*space, SpaceNote{text_at(value, "model"), text_at(value, "settings"), !shared});
  }
  return notes;
}

// --- export ------------------------------------------------------------------------------

std::vector<BlobSummary> in_order(DiskStore& store, std::optional<SpaceKey> space) {
  std::vector<BlobSummary> blobs = store.inventory().blobs();
  std::erase_if(blobs, [&](const BlobSummary& blob) { return space && blob.space != *space; });
  std::ranges::sort(blobs, {}, [](const BlobSummary& blob) {
    return std::tuple(blob.space, blob.range.end, blob.range.begin, blob.key);
  });
  return blobs;
}

// --- import ------------------------------------------------------------------------------

class Importer {
 public:
  Importer(DiskStore& store, std::int64_t now_ms) : store_(store), now_ms_(now_ms) {}

  void take(ByteSource& source) {
    ++report_.read;
    const auto blob = read_blob(source, Verify::kPartsAndDigest);
    if (!blob) {
      ++report_.refused;
      report_.why = blob.error().message;
      return;
    }
    const auto answer = store_.put(*blob, now_ms_);
    if (!answer) {
      ++report_.failed;
      report_.why = answer.error().message;
      return;
    }
    count(*answer, blob->facts);
  }

  // Of those spaces of which something is there now.
  void describe(const std::map<SpaceKey, SpaceNote>& notes) {
    const auto known = store_.space_notes();
    for (const SpaceKey& space : spaces_) {
      const auto found = notes.find(space);
      if (found != notes.end() && !known.contains(space))
        static_cast<void>(store_.describe_space(space, found->second));  // counted by the store
    }
  }

  [[nodiscard]] ImportReport& report() { return report_; }

 private:
  void count(PutAnswer answer, const BlobFacts& facts) {
    if (answer == PutAnswer::kDeclined) {
      ++report_.declined;
      return;
    }
    spaces_.insert(facts.path.space);
    if (answer == PutAnswer::kPresent) ++report_.present;
    if (answer == PutAnswer::kStored) {
      ++report_.stored;
      report_.stored_bytes += facts.bytes;
    }
  }

  DiskStore& store_;
  const std::int64_t now_ms_;
  ImportReport report_;
  std::set<SpaceKey> spaces_;
};

}  // namespace

Result<ExportReport> export_blobs(DiskStore& store, OpenFile& file, std::optional<SpaceKey> space,
                                  const TransferProgress& progress) {
  const std::vector<BlobSummary> blobs = in_order(store, space);
  const std::string note = notes_text(store.space_notes(), blobs);
  auto writer = BlobArchiveWriter::begin(file, std::as_bytes(std::span(note)));
  if (!writer) return writer.error();
  ExportReport report;
  ByteCount done = 0, total = 0;
  for (const BlobSummary& blob : blobs) total += blob.bytes;
  for (const BlobSummary& blob : blobs) {
    if (progress) progress(done, total);
    done += blob.bytes;
    const auto loaded = store.load(blob.key, Verify::kPartsAndDigest);
    if (!loaded) {
      ++report.left_out;
      report.why = loaded.error().message;
      continue;
    }
    const auto encoded = encode(*loaded);
    if (!encoded) return encoded.error();
    if (auto added = writer->add(encoded->pieces()); !added) return added.error();
  }
  if (auto finished = writer->finish(); !finished) return finished.error();
  if (progress) progress(total, total);
  report.written = writer->count();
  report.bytes = writer->bytes();
  return report;
}

Result<ImportReport> import_blobs(DiskStore& store, ByteSource& source, std::int64_t now_ms,
                                  const TransferProgress& progress) {
  CHECK(store.role() == StoreRole::kWriter);
  auto reader = BlobArchiveReader::open(source);
  if (!reader) return reader.error();
  Importer importer(store, now_ms);
  importer.report().announced = reader->announced();
  for (;;) {
    if (progress) progress(reader->offset(), source.size());
    auto next = reader->next();
    if (!next) importer.report().ended = next.error().message;
    if (!next || !next->has_value()) break;
    importer.take(**next);
  }
  if (importer.report().read > 0) importer.describe(read_notes(reader->note()));
  return std::move(importer.report());
}

}  // namespace holdfast::tier
