#include "tools/scoll-sim/mutants/mutant_records.hpp"

#include <algorithm>
#include <charconv>
#include <optional>
#include <stdexcept>

#include "scoll/coro/error_format.hpp"

namespace scoll::sim {
namespace {

constexpr std::string_view heading = "mutant,workload,nodes,seed,property";

/// Removes a text up to the separator, or all of it.
std::string_view take(std::string_view& from, char separator) {
  const std::size_t end = std::min(from.find(separator), from.size());
  const std::string_view taken = from.substr(0, end);
  from.remove_prefix(std::min(end + 1, from.size()));
  return taken;
}

template <class Number>
std::optional<Number> number(std::string_view text) {
  Number n = 0;
  const auto [end, failed] = std::from_chars(text.data(), text.data() + text.size(), n);
  if (failed != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return n;
}

std::string quoted_field(std::string_view text) {
  if (text.find_first_of(",\"") == std::string_view::npos) return std::string(text);
  std::string inside;
  for (const char c : text) inside.append(c == '"' ? 2 : 1, c);
  return '"' + inside + '"';
}

std::string unquoted_field(std::string_view text) {
  if (text.size() < 2 || text.front() != '"' || text.back() != '"') return std::string(text);
  std::string inside;
  text = text.substr(1, text.size() - 2);
  for (std::size_t i = 0; i < text.size(); ++i) {
    inside += text[i];
    if (text[i] == '"') ++i;  // it stands twice
  }
  return inside;
}

std::optional<mutant_record> parse_row(std::string_view row) {
  mutant_record r;
  r.mutant = take(row, ',');
  const auto work = workload_named(take(row, ','));
  const auto hosts = number<std::uint32_t>(take(row, ','));
  const auto seed = number<std::uint64_t>(take(row, ','));
  if (r.mutant.empty() || !work || !hosts || *hosts == 0 || *hosts > most_hosts || !seed) return std::nullopt;
  r.run.work = *work;
  r.run.hosts = *hosts;
  r.run.seed = *seed;
  r.property = unquoted_field(row);
  return r;
}

}  // namespace

std::vector<mutant_record> parse_mutant_records(std::string_view csv) {
  if (take(csv, '\n') != heading)
    throw std::runtime_error(fmt::format("line 1 of the mutants' rows is not '{}'", heading));
  std::vector<mutant_record> records;
  for (std::size_t line = 2; !csv.empty(); ++line) {
    const std::string_view row = take(csv, '\n');
    auto record = parse_row(row);
    if (!record)
      throw std::runtime_error(fmt::format("line {} of the mutants' rows is not {}: {}", line, heading, row));
    if (find_record(records, record->mutant) != nullptr)
      throw std::runtime_error(
          fmt::format("line {} is the second row of the mutant {}", line, record->mutant));
    records.push_back(*std::move(record));
  }
  return records;
}

std::string to_csv(const std::vector<mutant_record>& records) {
  std::string csv = fmt::format("{}\n", heading);
  for (const mutant_record& r : records)
    csv += fmt::format("{},{},{},{},{}\n", r.mutant, to_string(r.run.work), r.run.hosts, r.run.seed,
                       quoted_field(r.property));
  return csv;
}

const mutant_record* find_record(const std::vector<mutant_record>& records, std::string_view mutant) {
  const auto found = std::ranges::find(records, mutant, &mutant_record::mutant);
  return found == records.end() ? nullptr : &*found;
}

}  // namespace scoll::sim
