// SqliteConnection: one database file, and what is asked of it.
//
// Failures are Errors: kInvalidArgument where the file is damaged, else kIo. A connection that is
// not open fails everything.
//
// Its statements are to be destroyed before it is closed.
#pragma once

#include <memory>
#include <string>

#include "base/result.h"

struct sqlite3;
struct sqlite3_stmt;

namespace holdfast::tier {

struct CloseStatement {
  void operator()(sqlite3_stmt* statement) const;
};
using SqliteStatement = std::unique_ptr<sqlite3_stmt, CloseStatement>;

class SqliteConnection {
 public:
  enum class Access { kRead, kReadWrite };
  // The file must be there, and be no link.
  [[nodiscard]] Result<void> open(const std::string& path, Access access);
  void close() { database_.reset(); }
  [[nodiscard]] bool is_open() const { return database_ != nullptr; }

  [[nodiscard]] Result<void> run(const char* sql);
  [[nodiscard]] Result<SqliteStatement> prepare(const char* sql);
  // Runs a statement that gives no rows, and makes it ready for the next time.
  [[nodiscard]] Result<void> finish(sqlite3_stmt* statement);
  // Runs `change` in a transaction: all or none.
  template <typename Change>
  [[nodiscard]] Result<void> in_transaction(Change&& change) {
    if (auto begun = run("BEGIN IMMEDIATE"); !begun) return begun;
    Result<void> done = change();
    if (done) done = run("COMMIT");
    if (!done) roll_back();
    return done;
  }
  // What an answer of SQLite's means.
  [[nodiscard]] Error failure(int code) const;

 private:
  struct CloseDatabase {
    void operator()(sqlite3* database) const;
  };
  void roll_back();

  std::unique_ptr<sqlite3, CloseDatabase> database_;
};

}  // namespace holdfast::tier
