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

// The 80 COCO classes in their usual order; index = label of a detector trained on COCO.
std::string_view class_name(std::int64_t label);  // "" outside
// By COCO name or by the VOC name of the same class ("aeroplane" = "airplane").
std::optional<std::int64_t> class_label(std::string_view name);

// Every object of an annotation, "difficult" ones included. Errors name the file and what is missing or unknown.
Result<std::vector<TrueBox>> parse_voc_annotation(std::string_view xml, const std::string& file);

}  // namespace narrow
