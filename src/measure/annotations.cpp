#include "measure/annotations.h"

#include <array>
#include <charconv>

#include "base/text.h"

namespace narrow {
namespace {

constexpr std::array<std::string_view, 80> kClasses{
    "person",        "bicycle",      "car",           "motorcycle",    "airplane",     "bus",           "train",        "truck",      "boat",
    "traffic light", "fire hydrant", "stop sign",     "parking meter", "bench",        "bird",          "cat",          "dog",        "horse",
    "sheep",         "cow",          "elephant",      "bear",          "zebra",        "giraffe",       "backpack",     "umbrella",   "handbag",
    "tie",           "suitcase",     "frisbee",       "skis",          "snowboard",    "sports ball",   "kite",         "baseball bat", "baseball glove",
    "skateboard",    "surfboard",    "tennis racket", "bottle",        "wine glass",   "cup",           "fork",         "knife",      "spoon",
    "bowl",          "banana",       "apple",         "sandwich",      "orange",       "broccoli",      "carrot",       "hot dog",    "pizza",
    "donut",         "cake",         "chair",         "couch",         "potted plant", "bed",           "dining table", "toilet",     "tv",
    "laptop",        "mouse",        "remote",        "keyboard",      "cell phone",   "microwave",     "oven",         "toaster",    "sink",
    "refrigerator",  "book",         "clock",         "vase",          "scissors",     "teddy bear",    "hair drier",   "toothbrush"};

struct Alias {
  std::string_view voc, coco;
};
constexpr std::array kAliases{Alias{"aeroplane", "airplane"}, Alias{"diningtable", "dining table"}, Alias{"motorbike", "motorcycle"},
                              Alias{"pottedplant", "potted plant"}, Alias{"sofa", "couch"}, Alias{"tvmonitor", "tv"}};

// Contents of the first <tag>...</tag> in `xml`, or nullopt. VOC files have no attributes and no nesting of equal tags,
// except <part> inside <object>, which stands after the object's own box.
std::optional<std::string_view> element(std::string_view xml, std::string_view tag) {
  const std::string open = fmt::format("<{}>", tag), close = fmt::format("</{}>", tag);
  const std::size_t begin = xml.find(open);
  if (begin == std::string_view::npos) return std::nullopt;
  const std::size_t end = xml.find(close, begin);
  if (end == std::string_view::npos) return std::nullopt;
  return trim(xml.substr(begin + open.size(), end - begin - open.size()));
}

Result<double> coordinate(std::string_view box, std::string_view tag, const std::string& file) {
  const std::optional<std::string_view> text = element(box, tag);
  if (!text) return error("annotation '{}' has a box without <{}>", file, tag);
  double value = 0;
  const auto [end, code] = std::from_chars(text->data(), text->data() + text->size(), value);
  if (code != std::errc() || end != text->data() + text->size()) return error("annotation '{}' has <{}> '{}', wanted a number", file, tag, *text);
  return value;
}

}  // namespace

std::optional<std::int64_t> class_label(std::string_view name) {
  for (const Alias& alias : kAliases) {
    if (alias.voc == name) name = alias.coco;
  }
  for (std::size_t i = 0; i < kClasses.size(); ++i) {
    if (kClasses[i] == name) return static_cast<std::int64_t>(i);
  }
  return std::nullopt;
}

Result<std::vector<TrueBox>> parse_voc_annotation(std::string_view xml, const std::string& file) {
  if (xml.find("<annotation>") == std::string_view::npos) return error("'{}' is not a VOC annotation: no <annotation> element", file);
  std::vector<TrueBox> boxes;
  std::size_t at = 0;
  while ((at = xml.find("<object>", at)) != std::string_view::npos) {
    const std::size_t end = xml.find("</object>", at);
    if (end == std::string_view::npos) return error("annotation '{}' ends inside an <object>", file);
    const std::string_view object = xml.substr(at, end - at);
    at = end;
    const std::optional<std::string_view> name = element(object, "name");
    const std::optional<std::string_view> box = element(object, "bndbox");
    if (!name || !box) return error("annotation '{}' has an <object> without <{}>", file, name ? "bndbox" : "name");
    const std::optional<std::int64_t> label = class_label(*name);
    if (!label) return error("annotation '{}' has the class '{}', which is none of the 80 COCO classes or their VOC names", file, *name);
    boxes.push_back({{NARROW_TRY(coordinate(*box, "xmin", file)), NARROW_TRY(coordinate(*box, "ymin", file)), NARROW_TRY(coordinate(*box, "xmax", file)),
                      NARROW_TRY(coordinate(*box, "ymax", file))},
                     *label});
  }
  return boxes;
}

}  // namespace narrow
