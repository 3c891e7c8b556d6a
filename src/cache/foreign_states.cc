#include "cache/foreign_states.h"

#include "state/chunk_keys.h"
#include "tier/path_name.h"

namespace holdfast::cache {

ForeignMatch ForeignStates::find(const tier::StoredDepths& known,
                                 const ForeignQuestion& question) const {
  ForeignMatch best;
  for (const ForeignMaker& maker : makers_) {
    tier::PathNamer names(maker.facts.space(question.tenant));
    if (maker.chunk_keys) {
      names.append(chunk_keys(question.tokens, question.cuts));
    } else {
      names.append(question.tokens);
    }
    const TokenPos agreed = known.agreed(names.anchors());
    if (agreed > best.agreed) best = {agreed, maker.made_by, maker.flags};
  }
  return best;
}

}  // namespace holdfast::cache
