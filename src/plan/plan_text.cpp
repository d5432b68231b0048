// The plan as text, one entry a line, for review and for editing by hand:
//   narrow plan 1
//   graph 00f3...                      of the float graph
//   target "generic-int8"
//   activation "conv1" i8 scale=0.0235 zp=-128 by "default: mse over 64 samples"
//   activation "flat" as "conv1" by "constraint: same as 'conv1' (Reshape 'flat')"    shares its type, scale and zero point
//   constant "conv1" 1 i8 narrow axis=0 scale=0.01,0.02 zp=0 by "..."        node, input
//   island "softmax" by "Softmax has no integer form"
//   note "..."
// A line that shares another's params names it instead of repeating them, so that one edit moves all that must be the same.
// Names are quoted, with \" \\ \n \t \r \xNN inside. A zp list may be one number for all. '#' begins a comment line.
#include <charconv>
#include <unordered_map>

#include "base/hash.h"
#include "base/text.h"
#include "plan/plan.h"

namespace narrow {
namespace {

std::string text_of(const QuantParams& p) {
  std::string out(name_of(p.dtype));
  if (p.bits > 0) out += fmt::format(" bits={}", p.bits);
  if (p.narrow_range) out += " narrow";
  if (p.per_channel()) out += fmt::format(" axis={}", p.axis);
  out += " scale=";
  for (std::size_t i = 0; i < p.scale.size(); ++i) out += (i > 0 ? "," : "") + exact(p.scale[i]);
  out += " zp=";
  bool equal = true;
  for (const std::int32_t z : p.zero_point) equal = equal && z == p.zero_point[0];
  for (std::size_t i = 0; i < (equal ? 1 : p.zero_point.size()); ++i) out += (i > 0 ? "," : "") + std::to_string(p.zero_point[i]);
  return out;
}

struct Token {
  std::string text;
  bool is_quoted = false;
  int column = 0;
};

// One line being read. Every error carries its place.
class Line {
 public:
  Line(std::string_view text, const std::string& file, int number) : where_{file, number, 0, 0, std::string(text)} {}

  Status split_tokens() {
    const std::string& s = where_.text;
    for (std::size_t i = 0; i < s.size();) {
      if (s[i] == ' ' || s[i] == '\t' || s[i] == '\r') {
        ++i;
        continue;
      }
      Token t{.text = {}, .is_quoted = s[i] == '"', .column = static_cast<int>(i) + 1};
      if (t.is_quoted) {
        const std::size_t begin = i;
        for (++i; i < s.size() && s[i] != '"'; ++i) i += s[i] == '\\' && i + 1 < s.size() ? 1 : 0;
        if (i >= s.size()) return fail("the quoted text has no end", t, "close it with '\"'");
        ++i;
        auto text = unquoted(std::string_view(s).substr(begin, i - begin));
        if (!text) return fail("unknown escape in the quoted text", t, "the escapes are \\\" \\\\ \\n \\t \\r \\xNN");
        t.text = std::move(*text);
      } else {
        while (i < s.size() && s[i] != ' ' && s[i] != '\t' && s[i] != '\r') t.text += s[i++];
      }
      tokens_.push_back(std::move(t));
    }
    return {};
  }

  bool empty() const { return tokens_.empty() || (!tokens_[0].is_quoted && tokens_[0].text[0] == '#'); }
  bool at_end() const { return next_ == tokens_.size(); }

  Result<std::string> word(std::string_view wanted) { return take(wanted, false); }
  Result<std::string> name(std::string_view wanted) { return take(wanted, true); }

  Result<int> integer(std::string_view wanted) {
    const Token at = peek();
    return small_number(NARROW_TRY(word(wanted)), at);
  }

  Result<std::string> decided_by() {
    const Token at = peek();
    if (NARROW_TRY(word("'by'")) != "by") return fail("wanted 'by' and who decided, in quotes", at);
    return name("who decided, in quotes");
  }

  Result<QuantParams> params() {
    const Token first = peek();
    const auto dtype = dtype_from_name(NARROW_TRY(word("a type such as i8")));
    if (!dtype || is_float(*dtype) || *dtype == DType::kBool) return fail(fmt::format("'{}' is not a quantized type", first.text), first, "wanted i8, u8, i16, u16, i32 or i64");
    QuantParams p;
    p.dtype = *dtype;
    while (!at_end() && peek().text != "by") {
      const Token t = peek();
      ++next_;
      const std::size_t equal = t.text.find('=');
      const std::string key = t.text.substr(0, equal), value = equal == std::string::npos ? "" : t.text.substr(equal + 1);
      if (key == "narrow" && equal == std::string::npos) p.narrow_range = true;
      else if (key == "bits") p.bits = NARROW_TRY(small_number(value, t));
      else if (key == "axis") p.axis = NARROW_TRY(small_number(value, t));
      else if (key == "scale") NARROW_TRY(read_scales(value, t, &p));
      else if (key == "zp") NARROW_TRY(read_zero_points(value, t, &p));
      else return fail(fmt::format("unknown key '{}'", key), t, did_you_mean(key, {"narrow", "bits", "axis", "scale", "zp"}));
    }
    if (p.scale.empty()) return fail("the entry has no scale=", first);
    if (p.zero_point.empty()) return fail("the entry has no zp=", first);
    if (p.zero_point.size() == 1) p.zero_point.resize(p.scale.size(), p.zero_point[0]);
    if (p.zero_point.size() != p.scale.size()) return fail(fmt::format("{} zero points for {} scales", p.zero_point.size(), p.scale.size()), first);
    if (p.bits != 0 && (p.bits < 2 || p.bits > static_cast<int>(size_of(p.dtype)) * 8)) return fail(fmt::format("bits={} does not fit {}", p.bits, name_of(p.dtype)), first);
    if (!p.per_channel() && p.scale.size() != 1) return fail(fmt::format("{} scales without an axis", p.scale.size()), first, "add axis=, or give one scale");
    for (const std::int32_t z : p.zero_point) {
      if (z < p.qmin() || z > p.qmax()) return fail(fmt::format("zero point {} does not fit {}, wanted {} to {}", z, name_of(p.dtype), p.qmin(), p.qmax()), first);
    }
    return p;
  }

  Status end() {
    if (at_end()) return {};
    return fail("nothing was wanted here", peek());
  }

  SourceSpan span(const Token& at) const {
    SourceSpan where = where_;
    where.column = at.column;
    where.length = static_cast<int>(at.text.size()) + (at.is_quoted ? 2 : 0);
    return where;
  }

  ErrorBuilder fail(std::string message, const Token& at, std::string help = {}) const {
    Error e;
    e.message = std::move(message);
    e.help = std::move(help);
    e.where = span(at);
    return ErrorBuilder(std::move(e));
  }

  Token peek() const { return at_end() ? Token{.text = {}, .is_quoted = false, .column = static_cast<int>(where_.text.size()) + 1} : tokens_[next_]; }

 private:
  Result<std::string> take(std::string_view wanted, bool is_quoted) {
    if (at_end()) return fail(fmt::format("the line ends, wanted {}", wanted), peek());
    if (peek().is_quoted != is_quoted) return fail(fmt::format("found {}, wanted {}", peek().is_quoted ? "quoted text" : "'" + peek().text + "'", wanted), peek());
    return tokens_[next_++].text;
  }

  Result<std::int64_t> number(std::string_view text, const Token& at) const {
    std::int64_t value = 0;
    const auto [end, code] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (code != std::errc() || end != text.data() + text.size()) return fail(fmt::format("'{}' is not a whole number", text), at);
    return value;
  }

  Result<int> small_number(std::string_view text, const Token& at) const {
    const std::int64_t value = NARROW_TRY(number(text, at));
    if (value < 0 || value > 65535) return fail(fmt::format("{} is not a number from 0 to 65535", value), at);
    return static_cast<int>(value);
  }

  Status read_scales(const std::string& list, const Token& at, QuantParams* p) const {
    for (const std::string& item : split(list, ',')) {
      float value = 0;
      const auto [end, code] = std::from_chars(item.data(), item.data() + item.size(), value);
      if (item.empty() || code != std::errc() || end != item.data() + item.size() || !std::isnormal(value) || value < 0) {
        return fail(fmt::format("'{}' is not a scale", item), at, "a scale is a positive normal number");
      }
      p->scale.push_back(value);
    }
    return {};
  }

  Status read_zero_points(const std::string& list, const Token& at, QuantParams* p) const {
    for (const std::string& item : split(list, ',')) {
      const std::int64_t value = NARROW_TRY(number(item, at));
      if (value < INT32_MIN || value > INT32_MAX) return fail(fmt::format("zero point {} does not fit i32", value), at);
      p->zero_point.push_back(static_cast<std::int32_t>(value));
    }
    return {};
  }

  SourceSpan where_;
  std::vector<Token> tokens_;
  std::size_t next_ = 0;
};

// "as": the entry of an activation, by its index, and where it names the other.
using References = std::vector<std::pair<std::size_t, SourceSpan>>;

// The first entry of every value.
std::unordered_map<std::string_view, const ActivationPlan*> entries_by_value(const Plan& plan) {
  std::unordered_map<std::string_view, const ActivationPlan*> entries;
  for (const ActivationPlan& a : plan.activations) entries.emplace(a.value, &a);
  return entries;
}

Status resolve(const References& references, Plan* plan) {
  const auto entries = entries_by_value(*plan);
  for (const auto& [index, where] : references) {
    ActivationPlan& a = plan->activations[index];
    const auto it = entries.find(a.same_as);
    if (it == entries.end()) return error("'{}' shall be as '{}', which is not planned", a.value, a.same_as).at(where).with_help("give it a type, scale= and zp= of its own");
    if (!it->second->same_as.empty()) return error("'{}' shall be as '{}', which has no params of its own", a.value, a.same_as).at(where).with_help("name the one that decides");
    a.params = it->second->params;
  }
  return {};
}

Status read_entry(Line& line, Plan* plan, References* references) {
  const Token at = line.peek();
  const std::string kind = NARROW_TRY(line.word("a kind of entry"));
  if (kind == "graph") {
    const Token hash = line.peek();
    if (!hash_from_string(NARROW_TRY(line.word("16 hexadecimal digits")), &plan->graph_hash)) return line.fail(fmt::format("'{}' is not a hash of 16 hexadecimal digits", hash.text), hash);
  } else if (kind == "target") {
    plan->target = NARROW_TRY(line.name("the target's name, in quotes"));
  } else if (kind == "activation") {
    ActivationPlan& a = plan->activations.emplace_back();
    a.value = NARROW_TRY(line.name("a value's name, in quotes"));
    if (const Token next = line.peek(); next.text == "as" && !next.is_quoted) {
      NARROW_TRY(line.word("'as'"));
      references->emplace_back(plan->activations.size() - 1, line.span(line.peek()));
      a.same_as = NARROW_TRY(line.name("the name of the value whose params it shares, in quotes"));
    } else {
      a.params = NARROW_TRY(line.params());
    }
    a.decided_by = NARROW_TRY(line.decided_by());
  } else if (kind == "constant") {
    ConstantPlan& c = plan->constants.emplace_back();
    c.node = NARROW_TRY(line.name("a layer's name, in quotes"));
    c.slot = NARROW_TRY(line.integer("the number of the input"));
    c.params = NARROW_TRY(line.params());
    c.decided_by = NARROW_TRY(line.decided_by());
  } else if (kind == "island") {
    IslandPlan& i = plan->islands.emplace_back();
    i.node = NARROW_TRY(line.name("a layer's name, in quotes"));
    i.reason = NARROW_TRY(line.decided_by());
  } else if (kind == "note") {
    plan->notes.push_back(NARROW_TRY(line.name("text, in quotes")));
  } else {
    return line.fail(fmt::format("unknown kind of entry '{}'", kind), at, did_you_mean(kind, {"graph", "target", "activation", "constant", "island", "note"}));
  }
  return line.end();
}

}  // namespace

std::string Plan::to_text() const {
  std::string out = fmt::format("narrow plan 1\ngraph {}\ntarget {}\n", hash_to_string(graph_hash), quoted(target));
  const auto entries = entries_by_value(*this);
  for (const ActivationPlan& a : activations) {
    const auto other = a.same_as.empty() ? entries.end() : entries.find(a.same_as);
    const bool shares = other != entries.end() && other->second->same_as.empty() && other->second->params == a.params;
    out += fmt::format("activation {} {} by {}\n", quoted(a.value), shares ? "as " + quoted(a.same_as) : text_of(a.params), quoted(a.decided_by));
  }
  for (const ConstantPlan& c : constants) out += fmt::format("constant {} {} {} by {}\n", quoted(c.node), c.slot, text_of(c.params), quoted(c.decided_by));
  for (const IslandPlan& i : islands) out += fmt::format("island {} by {}\n", quoted(i.node), quoted(i.reason));
  for (const std::string& n : notes) out += fmt::format("note {}\n", quoted(n));
  return out;
}

Result<Plan> Plan::from_text(std::string_view text, const std::string& file) {
  Plan plan;
  References references;
  int number = 0;
  for (const std::string& raw : split(text, '\n')) {
    ++number;
    if (number == 1) {
      if (trim(raw) != "narrow plan 1") return error("'{}' is not a plan of this version: it begins with '{}', wanted 'narrow plan 1'", file, raw.substr(0, 40)).with_help("give OUT.plan, as `narrow compile` writes it");
      continue;
    }
    Line line(raw, file, number);
    NARROW_TRY(line.split_tokens());
    if (!line.empty()) NARROW_TRY(read_entry(line, &plan, &references));
  }
  NARROW_TRY(resolve(references, &plan));
  return plan;
}

}  // namespace narrow
