#include "core/models/gigaam_jit.h"

#include "core/base/text.h"

namespace tandem {

Result<std::shared_ptr<const GigaAmModel>> GigaAmModel::make(const WeightFile& file, const GigaAmConfig& config,
                                                             const GigaAmOptions& options) {
  if (!config.encoder)
    return fail(ErrorCode::kInvalidArgument,
                concat(config.origin, " for ", file.origin(), " has no \"encoder\": it describes no model"));
  TANDEM_TRY(weights, GigaAmWeights::find(file, config, options));
  GigaAmModel model{config, MelFrontEnd(config.mel), Conformer(*config.encoder, weights), {}, {}, weights};
  if (config.head && config.head->kind == GigaAmHead::kCtc) model.ctc.emplace(weights);
  if (config.head && config.head->kind == GigaAmHead::kRnnt) model.rnnt.emplace(*config.head, weights);
  return std::make_shared<const GigaAmModel>(std::move(model));
}

}  // namespace tandem
