// Range calibrators: from the finished statistics of a value to the real interval that its quantizer shall represent. One
// table; all read the same histogram, so trying another costs milliseconds and no second pass over the data.
// docs/calibration.md says what each computes and when to use it.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "base/error.h"
#include "calibrate/stats.h"
#include "tensor/quant_params.h"

namespace narrow {

// A real interval; lo <= 0 <= hi.
struct Range {
  double lo = 0, hi = 0;
  bool operator==(const Range&) const = default;
};

struct CalibratorChoice;

struct Calibrator {
  std::string_view name;
  Range (*choose)(const ValueStats& stats, const CalibratorChoice& choice, const GridOptions& grid, std::span<const double> importance) = nullptr;
};

struct CalibratorChoice {
  const Calibrator* calibrator = nullptr;  // never nullptr once made by calibrator_from_name
  double percentile = 99.99;               // "percentile" only: share of the mass that is kept, in (50, 100]
  std::string to_string() const;           // "mse", "percentile 99.99"; reads back
};

std::span<const Calibrator> calibrators();  // the default first
// "mse", "kl", ...; "percentile" takes its share from `percentile`, "percentile 99.9" carries its own. Empty: the default.
// Error: unknown name (with a suggestion), share out of range.
Result<CalibratorChoice> calibrator_from_name(std::string_view name, double percentile);

// The calibrator's choice, clamped to the exact observed minimum and maximum and widened to contain 0. Statistics
// without a finite element give [0, 0]. importance: per channel, what an error there costs (plan/importance.h); empty: all alike.
Range choose_range(const ValueStats& stats, const CalibratorChoice& choice, const GridOptions& grid, std::span<const double> importance = {});

// The calibrators of one file each, for the table.
Range choose_kl(const ValueStats& stats, const CalibratorChoice& choice, const GridOptions& grid, std::span<const double> importance);
Range choose_output_mse(const ValueStats& stats, const CalibratorChoice& choice, const GridOptions& grid, std::span<const double> importance);
Range choose_mse(const ValueStats& stats, const CalibratorChoice& choice, const GridOptions& grid, std::span<const double> importance);
Range choose_sqnr(const ValueStats& stats, const CalibratorChoice& choice, const GridOptions& grid, std::span<const double> importance);

}  // namespace narrow
