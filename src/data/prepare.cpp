#include "data/prepare.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "base/text.h"

namespace narrow {
namespace {

using Color = InputRecipe::Color;
using Filter = InputRecipe::Filter;
using Resize = InputRecipe::Resize;

bool is_channel_count(std::int64_t extent) { return extent == 1 || extent == 3; }

// [N,C,H,W], [N,H,W,C], or without the channel axis or the batch. `layout` decides what the extents leave open.
std::optional<ImageAxes> axes_of(const Shape& shape, const std::string& layout) {
  if (shape.size() < 3) return std::nullopt;
  Shape s = shape;
  if (s.size() == 4 || (s.size() == 3 && s[0] == 1 && !is_channel_count(s[2]))) {
    if (s[0] != 1) return std::nullopt;
    s.erase(s.begin());
  }
  if (s.size() == 2) return ImageAxes{1, s[0], s[1], true};
  if (s.size() != 3) return std::nullopt;
  const bool first = is_channel_count(s[0]), last = is_channel_count(s[2]);
  if (!first && !last) return std::nullopt;
  // Where both ends could count channels, three are likelier than one; then the recipe decides.
  const bool at_end = last && (!first || s[2] > s[0] || (s[2] == s[0] && layout == "nhwc"));
  return at_end ? ImageAxes{s[2], s[0], s[1], true} : ImageAxes{s[0], s[1], s[2], false};
}

// Without extents of 1: what decides the order of the bytes.
Shape squeezed(const Shape& shape) {
  Shape out;
  std::copy_if(shape.begin(), shape.end(), std::back_inserter(out), [](std::int64_t e) { return e != 1; });
  return out;
}

// The input's sample shape in the other layout: [C,H,W] <-> [H,W,C].
std::optional<Shape> other_layout(const InputSpec& spec) {
  const Shape s = spec.sample_shape();
  if (s.size() != 3) return std::nullopt;
  const bool last = spec.channel_axis == static_cast<int>(spec.type.shape.size()) - 1;
  return last ? Shape{s[2], s[0], s[1]} : Shape{s[1], s[2], s[0]};
}

std::string layout_of(const InputSpec& spec) {
  if (spec.type.shape.size() < 3 || spec.channel_axis < 0) return "";
  return spec.channel_axis == static_cast<int>(spec.type.shape.size()) - 1 ? "nhwc" : "nchw";
}

// A real number to the input's element type; integers take the nearest value that they can hold, ties to even.
template <typename T>
T to_element(double x) {
  if constexpr (std::is_floating_point_v<T>) {
    return static_cast<T>(x);
  } else if constexpr (std::is_same_v<T, bool>) {
    return x != 0;
  } else {
    const double low = static_cast<double>(std::numeric_limits<T>::min()), high = static_cast<double>(std::numeric_limits<T>::max());
    const double nearest = round_half_even(x);
    if (!(nearest > low)) return std::numeric_limits<T>::min();
    return nearest >= high ? std::numeric_limits<T>::max() : static_cast<T>(nearest);
  }
}

struct Placed {
  Image image;
  double scale_x = 1, scale_y = 1, offset_x = 0, offset_y = 0;
};

Placed stretch(const Image& image, const InputRecipe& recipe, int width, int height) {
  return {resize(image, width, height, recipe.filter, recipe.antialias), static_cast<double>(width) / image.width, static_cast<double>(height) / image.height, 0, 0};
}

// To the nearest integer, halves to the even one: how cut edges between pixels are placed.
int nearest_edge(double x) {
  const double below = std::floor(x);
  const double rest = x - below;
  const auto edge = static_cast<int>(below);
  return rest < 0.5 || (rest == 0.5 && edge % 2 == 0) ? edge : edge + 1;
}

Placed center_crop(const Image& image, const InputRecipe& recipe, int width, int height) {
  const double side = recipe.crop_fraction * std::min(image.width, image.height);
  const auto begin = [&](int extent) { return nearest_edge((extent - side) / 2); };
  const auto end = [&](int extent) { return std::max(nearest_edge((extent - side) / 2 + side), begin(extent) + 1); };
  const int left = begin(image.width), top = begin(image.height);
  Placed out = stretch(crop(image, left, top, end(image.width) - left, end(image.height) - top), recipe, width, height);
  out.offset_x = -left * out.scale_x;
  out.offset_y = -top * out.scale_y;
  return out;
}

Placed letterbox(const Image& image, const InputRecipe& recipe, int width, int height) {
  const double ratio = std::min(static_cast<double>(width) / image.width, static_cast<double>(height) / image.height);
  const int w = std::max(1, static_cast<int>(image.width * ratio)), h = std::max(1, static_cast<int>(image.height * ratio));
  const Image inner = resize(image, w, h, recipe.filter, recipe.antialias);
  const int left = recipe.letterbox_top_left ? 0 : (width - w) / 2, top = recipe.letterbox_top_left ? 0 : (height - h) / 2;
  Placed out{Image(width, height, image.channels), ratio, ratio, static_cast<double>(left), static_cast<double>(top)};
  std::fill(out.image.pixels.begin(), out.image.pixels.end(), to_element<std::uint8_t>(recipe.fill));
  for (int y = 0; y < h; ++y) std::copy_n(inner.row(y), w * image.channels, out.image.row(top + y) + left * image.channels);
  return out;
}

Placed short_side(const Image& image, const InputRecipe& recipe, int width, int height) {
  const bool wide = image.width > image.height;
  const int shorter = std::min(image.width, image.height);
  const auto in_proportion = [&](int side) { return static_cast<int>(static_cast<double>(recipe.short_side) * side / shorter); };
  const int w = wide ? std::max(width, in_proportion(image.width)) : recipe.short_side;
  const int h = wide ? recipe.short_side : std::max(height, in_proportion(image.height));
  Placed out = stretch(image, recipe, w, h);
  const int left = nearest_edge((w - width) / 2.0), top = nearest_edge((h - height) / 2.0);
  out.image = crop(out.image, left, top, width, height);
  out.offset_x = -left;
  out.offset_y = -top;
  return out;
}

// A pixel code of each channel as it is fed: 256 entries per channel.
template <typename T>
void emit_pixels(const InputSpec& spec, const Image& image, T* out) {
  const auto channels = static_cast<std::size_t>(image.channels);
  const std::size_t pixels = image.pixels.size() / channels;
  for (std::size_t c = 0; c < channels; ++c) {
    const std::size_t source = spec.recipe.color == Color::kBgr && channels == 3 ? 2 - c : c;
    std::array<T, 256> fed;
    for (std::size_t code = 0; code < 256; ++code) {
      const auto channel = static_cast<std::int64_t>(c);
      fed[code] = to_element<T>((static_cast<double>(code) - spec.mean(channel)) * spec.scale(channel));
    }
    const std::size_t step = spec.image->channels_last ? channels : 1;
    T* to = out + (spec.image->channels_last ? c : c * pixels);
    for (std::size_t i = 0; i < pixels; ++i) to[i * step] = fed[image.pixels[i * channels + source]];
  }
}

std::string numbers(const std::vector<double>& values) {
  const bool uniform = std::all_of(values.begin(), values.end(), [&](double v) { return v == values[0]; });
  if (uniform) return fmt::format("{:.9g}", values[0]);
  std::vector<std::string> texts;
  for (const double v : values) texts.push_back(fmt::format("{:.9g}", v));
  return "[" + join(texts, ", ") + "]";
}

std::string normalised(const InputSpec& spec, const std::string& what) {
  std::string out = what;
  const auto all = [](const std::vector<double>& list, double neutral) { return std::all_of(list.begin(), list.end(), [&](double v) { return v == neutral; }); };
  if (!all(spec.recipe.mean, 0)) out = fmt::format("({} - {})", out, numbers(spec.recipe.mean));
  if (!all(spec.recipe.scale, 1)) out += fmt::format(" * {}", numbers(spec.recipe.scale));
  return out;
}

std::string ending(const InputSpec& spec) {
  std::string layout = layout_of(spec);
  std::transform(layout.begin(), layout.end(), layout.begin(), [](char c) { return static_cast<char>(c - 'a' + 'A'); });
  return fmt::format(", {}{}{}", name_of(spec.type.dtype), layout.empty() ? "" : " ", layout);
}

}  // namespace

double InputSpec::mean(std::int64_t channel) const {
  if (recipe.mean.empty()) return 0;
  return recipe.mean.size() == 1 ? recipe.mean[0] : recipe.mean[static_cast<std::size_t>(channel)];
}

double InputSpec::scale(std::int64_t channel) const {
  if (recipe.scale.empty()) return 1;
  return recipe.scale.size() == 1 ? recipe.scale[0] : recipe.scale[static_cast<std::size_t>(channel)];
}

Shape InputSpec::sample_shape() const {
  Shape shape = type.shape;
  if (!shape.empty() && shape[0] == 1) shape.erase(shape.begin());
  return shape;
}

Result<InputSpec> make_input_spec(const Value& input, const Recipe& recipe) {
  InputSpec spec;
  spec.name = input.name;
  spec.type = {input.dtype, input.shape};
  if (const InputRecipe* wish = recipe.input(input.name)) spec.recipe = *wish;
  const auto rank = static_cast<int>(input.shape.size());
  spec.image = axes_of(input.shape, spec.recipe.layout);
  const std::size_t listed = std::max(spec.recipe.mean.size(), spec.recipe.scale.size());
  if (spec.image) {
    // A picture without a channel axis has one channel on any axis; the last one stands for it.
    const bool has_axis = rank >= 3 && input.shape[static_cast<std::size_t>(rank - (spec.image->channels_last ? 1 : 3))] == spec.image->channels;
    spec.channel_axis = has_axis ? rank - (spec.image->channels_last ? 1 : 3) : -1;
    if (spec.image->channels == 1) spec.recipe.color = Color::kGray;
  } else if (rank == 4) {
    spec.channel_axis = spec.recipe.layout == "nhwc" ? 3 : 1;
  } else if (rank >= 1 && listed > 1) {
    const auto extent = [&](int axis) { return static_cast<std::size_t>(input.shape[static_cast<std::size_t>(axis)]); };
    spec.channel_axis = extent(rank - 1) == listed ? rank - 1 : (rank > 1 && extent(1) == listed ? 1 : -1);
  }
  const std::int64_t channels = spec.channel_axis < 0 ? 1 : input.shape[static_cast<std::size_t>(spec.channel_axis)];
  for (const auto& [list, key] : {std::pair(&spec.recipe.mean, "mean"), std::pair(&spec.recipe.scale, "scale (or std)")}) {
    if (list->size() <= 1 || static_cast<std::int64_t>(list->size()) == channels) continue;
    return error("{} of input '{}' lists {} values, wanted 1{}", key, input.name, list->size(), channels > 1 ? fmt::format(" or {} (one per channel)", channels) : "")
        .at(spec.recipe.where)
        .with_help(channels > 1 ? fmt::format("one number for all, or {} in the channel order that is fed", channels) : std::string("one number for all"));
  }
  if (spec.image && spec.image->channels == 3 && spec.recipe.color == Color::kGray) {
    return error("'color: gray' for input '{}', which has 3 channels", input.name).at(spec.recipe.where).with_help("use 'color: rgb' or 'color: bgr'");
  }
  if (spec.image && spec.recipe.resize == Resize::kShortSide && spec.recipe.short_side < std::max(spec.image->height, spec.image->width)) {
    return error("'short_side: {}' of input '{}' is smaller than the {} x {} that the network wants", spec.recipe.short_side, input.name, spec.image->width, spec.image->height)
        .at(spec.recipe.where)
        .with_help("give at least the longer side of the input");
  }
  return spec;
}

Result<PreparedImage> prepare_image(const InputSpec& spec, const Image& rgb, const std::string& name) {
  const auto width = static_cast<int>(spec.image->width), height = static_cast<int>(spec.image->height);
  const Image gray = spec.image->channels == 1 ? to_gray(rgb) : Image();
  const Image& image = spec.image->channels == 1 ? gray : rgb;
  Placed placed;
  switch (spec.recipe.resize) {
    case Resize::kNone:
      if (image.width != width || image.height != height) {
        return error("'{}' has {} x {} pixels, input '{}' wants {} x {}", name, image.width, image.height, spec.name, width, height)
            .with_help("'resize: none' takes images of exactly this size; another resize mode fits them");
      }
      placed.image = image;
      break;
    case Resize::kStretch: placed = stretch(image, spec.recipe, width, height); break;
    case Resize::kCenterCrop: placed = center_crop(image, spec.recipe, width, height); break;
    case Resize::kLetterbox: placed = letterbox(image, spec.recipe, width, height); break;
    case Resize::kShortSide:
      if (const double ratio = static_cast<double>(spec.recipe.short_side) / std::min(image.width, image.height); ratio * image.width * (ratio * image.height) > static_cast<double>(kMostPixels)) {
        return error("'{}' has {} x {} pixels: with a short side of {} it would have more than {}", name, image.width, image.height, spec.recipe.short_side, kMostPixels)
            .with_help("remove this image, or choose another resize mode");
      }
      placed = short_side(image, spec.recipe, width, height); break;
  }
  PreparedImage out{Tensor(spec.type.dtype, spec.type.shape), placed.scale_x, placed.scale_y, placed.offset_x, placed.offset_y};
  with_dtype(spec.type.dtype, [&](auto tag) {
    using T = decltype(tag);
    emit_pixels(spec, placed.image, out.tensor.data<T>());
  });
  return out;
}

bool layouts_differ(const InputSpec& spec) {
  const std::string own = layout_of(spec);
  return other_layout(spec).has_value() && !spec.recipe.layout.empty() && !own.empty() && spec.recipe.layout != own;
}

Result<ArrayFit> fit_array(const InputSpec& spec, const TensorType& array, const std::string& name) {
  const Shape wanted = squeezed(spec.sample_shape());
  const Shape whole = squeezed(array.shape);
  const Shape rest = array.shape.empty() ? Shape{} : squeezed(Shape(array.shape.begin() + 1, array.shape.end()));
  const std::int64_t first = array.shape.empty() ? 1 : array.shape[0];
  const std::optional<Shape> turned = other_layout(spec);
  const std::string own_layout = layout_of(spec);
  const bool permuted = layouts_differ(spec);
  const Shape expected = permuted ? squeezed(*turned) : wanted;
  if (whole == expected && (first == 1 || rest != expected)) return ArrayFit{1, permuted};
  if (rest == expected && first > 0) return ArrayFit{first, permuted};
  if (rest == expected) return error("'{}' holds no samples: its shape is {}", name, to_string(array.shape));
  std::string shape = "N";
  for (const std::int64_t extent : spec.sample_shape()) shape += fmt::format(",{}", extent);
  std::string help = "give arrays of the input's shape, the first axis counting samples";
  const bool fits_turned = turned && (rest == squeezed(*turned) || whole == squeezed(*turned));
  const bool fits_straight = rest == wanted || whole == wanted;
  if (!permuted && fits_turned) help = fmt::format("add 'layout: {}' to the recipe of this input", own_layout == "nhwc" ? "nchw" : "nhwc");
  if (permuted && fits_straight) help = fmt::format("remove 'layout: {}' from the recipe: the data are as the network wants them", spec.recipe.layout);
  return error("'{}' has shape {}, input '{}' wants [{}]{}", name, to_string(array.shape), spec.name, shape,
               permuted ? fmt::format(" in the order {}", spec.recipe.layout) : "")
      .with_help(help);
}

Tensor prepare_array(const InputSpec& spec, const Tensor& sample, bool permuted) {
  Tensor out(spec.type.dtype, spec.type.shape);
  const std::int64_t count = out.elements();
  NARROW_CHECK(sample.elements() == count);
  const auto axis = static_cast<std::size_t>(spec.channel_axis);
  const std::int64_t channels = spec.channel_axis < 0 ? 1 : spec.type.shape[axis];
  std::int64_t inner = 1;  // elements from one channel to the next
  for (std::size_t a = axis + 1; spec.channel_axis >= 0 && a < spec.type.shape.size(); ++a) inner *= spec.type.shape[a];
  const bool to_last = permuted && inner == 1;  // stored [C, pixels], wanted [pixels, C]; else the reverse
  const std::int64_t pixels = count / std::max<std::int64_t>(channels, 1);
  with_dtype(sample.dtype(), [&](auto from_tag) {
    using From = decltype(from_tag);
    with_dtype(spec.type.dtype, [&](auto to_tag) {
      using To = decltype(to_tag);
      const From* x = sample.data<From>();
      To* y = out.data<To>();
      for (std::int64_t i = 0; i < count; ++i) {
        const std::int64_t channel = spec.channel_axis < 0 ? 0 : i / inner % channels;
        const std::int64_t source = !permuted ? i : to_last ? channel * pixels + i / channels : i % pixels * channels + channel;
        if (!spec.normalised() && (std::is_same_v<From, To> || std::is_integral_v<From> == std::is_integral_v<To>)) {
          y[i] = static_cast<To>(x[source]);
        } else {
          y[i] = to_element<To>((static_cast<double>(x[source]) - spec.mean(channel)) * spec.scale(channel));
        }
      }
    });
  });
  return out;
}

std::string formula_of_image(const InputSpec& spec) {
  const InputRecipe& r = spec.recipe;
  const std::string size = fmt::format("{}x{}", spec.image->width, spec.image->height);
  std::string filter = r.filter == Filter::kNearest ? "nearest" : r.filter == Filter::kBicubic ? "bicubic" : "bilinear";
  if (r.antialias && r.filter != Filter::kNearest) filter = "antialiased " + filter;
  std::string what = r.color == Color::kGray ? "gray image" : r.color == Color::kBgr ? "bgr image" : "rgb image";
  switch (r.resize) {
    case Resize::kNone: what += fmt::format(" of {}", size); break;
    case Resize::kStretch: what += fmt::format(" resized to {} by {}", size, filter); break;
    case Resize::kCenterCrop: what += fmt::format(", centre square of {:.9g} of the short side, resized to {} by {}", r.crop_fraction, size, filter); break;
    case Resize::kLetterbox: what += fmt::format(" letterboxed {} into {} filled with {:.9g} by {}", r.letterbox_top_left ? "at the top left" : "in the centre", size, r.fill, filter); break;
    case Resize::kShortSide: what += fmt::format(" with its short side resized to {} by {}, centre {} cut", r.short_side, filter, size); break;
  }
  return fmt::format("{} = {}{}", spec.name, normalised(spec, what), ending(spec));
}

std::string formula_of_array(const InputSpec& spec, DType stored, bool permuted) {
  const std::string windows = spec.recipe.window_stride > 0 ? fmt::format(" cut into windows {} apart", spec.recipe.window_stride) : "";
  const std::string what = fmt::format("{} array{}{}", name_of(stored), windows, permuted ? fmt::format(" in {}", spec.recipe.layout) : "");
  return fmt::format("{} = {}{}", spec.name, normalised(spec, what), ending(spec));
}

}  // namespace narrow
