// True boxes of a picture in the Pascal VOC form (one XML file per picture) and the names of the classes that the
// sample detectors know.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "measure/detection.h"

namespace narrow {

// Label of a detector trained on COCO (index among its 80 classes in their usual order), by the COCO name or by the VOC name of the same
// class ("aeroplane" = "airplane"); nullopt: no such class.
std::optional<std::int64_t> class_label(std::string_view name);

// Every object of an annotation, "difficult" ones included. Errors name the file and what is missing or unknown.
Result<std::vector<TrueBox>> parse_voc_annotation(std::string_view xml, const std::string& file);

}  // namespace narrow
