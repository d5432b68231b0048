// A text table for terminals: a header, rows, numbers right-aligned. Column widths fit their contents.
#pragma once

#include <string>
#include <vector>

namespace narrow {

enum class Align { kLeft, kRight };

class Table {
 public:
  struct Column {
    std::string title;
    Align align = Align::kLeft;
  };
  explicit Table(std::vector<Column> columns) : columns_(std::move(columns)) {}
  void add_row(std::vector<std::string> cells);  // as many cells as columns
  std::size_t rows() const { return rows_.size(); }
  std::string to_string() const;  // ends with a newline; no trailing blanks

 private:
  std::vector<Column> columns_;
  std::vector<std::vector<std::string>> rows_;
};

}  // namespace narrow
