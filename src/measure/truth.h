// What is right for every sample of a data set: classes, boxes, texts, or which recordings are anomalous.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/error.h"
#include "data/dataset.h"
#include "measure/detection.h"

namespace narrow {

struct Task {
  std::string kind;               // classify, detect, anomaly, read
  std::string decoder;            // detect
  std::string dictionary;         // read: file of an Alphabet; may be empty without labels
  std::int64_t label_offset = 0;  // class = argmax + offset
  // classify: an .npy vector of integers of at least 0, one per sample of the whole data set, or a text file of lines "FILE LABEL"; anomaly: such lines
  // for the files, 0 for a normal one; detect: a folder of VOC annotations, NAME.xml beside every NAME.jpg;
  // read: lines "FILE TEXT" in UTF-8, parted by a tab or, without one, by the first space. Empty: the answers of
  // the first network are held for true (its best class; its boxes that score at least 0.5; its text), so that the others are measured by
  // their agreement with it.
  std::string labels;
  std::int64_t first = 0;         // samples skipped in front; labels in an array are skipped too
};

// One entry per sample of the data set.
struct Truth {
  std::vector<std::int64_t> labels;         // classify: classes; anomaly: 0 for normal
  std::vector<std::vector<TrueBox>> boxes;  // detect
  std::vector<std::u32string> texts;        // read: without spaces in front and behind
  std::vector<std::size_t> recordings;      // anomaly: samples of one file have the same number, counted from 0
};

// Reads the labels of all samples at once, so that a missing one is reported before work is done. Errors: no labels, too few or
// too many, no classes, a line or file that is missing or damaged; for anomalies, recordings of one kind only.
Result<std::shared_ptr<Truth>> read_truth(const Task& task, const Dataset& dataset);

}  // namespace narrow
