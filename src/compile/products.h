// What a compilation leaves on disk. All files are staged beside their places first and then renamed, so that a full disk or an
// interruption leaves the old set.
#pragma once

#include <span>
#include <string>

#include "compile/compile.h"

namespace narrow {

// "net" for "net" and "net.narrow".
std::string product_stem(const std::string& output);
// Could the products be written, and would none replace one of `inputs`? Asked before work begins.
Status check_products_writable(const std::string& output, std::span<const std::string> inputs);
Status check_products_apart(const std::string& output, std::span<const std::string> inputs);  // the second question alone
// The artifact's bytes; the same for the same graph, plan and target. The report inside carries no times.
std::string pack(const CompileResult& result, const std::string& model);
struct ProductPaths { std::string artifact, qdq, plan, report, page; };
ProductPaths product_paths(const std::string& output);
// `file` itself, or, when there is no such file, the artifact or else the plan that lies at it as OUT.
std::string product_at(const std::string& file);
Status write_products(const CompileResult& result, const std::string& artifact, const std::string& output);

}  // namespace narrow
