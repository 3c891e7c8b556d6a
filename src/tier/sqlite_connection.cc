#include "tier/sqlite_connection.h"

#include <sqlite3.h>

namespace holdfast::tier {

namespace {

// How long a reader waits while the writer cleans up.
constexpr int kBusyMs = 250;

}  // namespace

void CloseStatement::operator()(sqlite3_stmt* statement) const { sqlite3_finalize(statement); }

void SqliteConnection::CloseDatabase::operator()(sqlite3* database) const {
  sqlite3_close(database);
}

Result<void> SqliteConnection::open(const std::string& path, Access access) {
  const int mode = access == Access::kReadWrite ? SQLITE_OPEN_READWRITE : SQLITE_OPEN_READONLY;
  const int flags = mode | SQLITE_OPEN_NOFOLLOW | SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_EXRESCODE;
  sqlite3* opened = nullptr;
  const int code = sqlite3_open_v2(path.c_str(), &opened, flags, nullptr);
  database_.reset(opened);
  if (code != SQLITE_OK) return failure(code);
  sqlite3_busy_timeout(opened, kBusyMs);
  sqlite3_db_config(opened, SQLITE_DBCONFIG_DEFENSIVE, 1, nullptr);
  return {};
}

Error SqliteConnection::failure(int code) const {
  const int kind = code & 0xff;
  const bool damaged = kind == SQLITE_CORRUPT || kind == SQLITE_NOTADB || kind == SQLITE_FORMAT;
  const std::string text = database_ ? sqlite3_errmsg(database_.get()) : sqlite3_errstr(code);
  return {damaged ? ErrorCode::kInvalidArgument : ErrorCode::kIo, "the index: " + text, {}};
}

Result<void> SqliteConnection::run(const char* sql) {
  if (!database_) return Error{ErrorCode::kIo, "the index is not open", {}};
  const int code = sqlite3_exec(database_.get(), sql, nullptr, nullptr, nullptr);
  if (code != SQLITE_OK) return failure(code);
  return {};
}

Result<SqliteStatement> SqliteConnection::prepare(const char* sql) {
  sqlite3_stmt* statement = nullptr;
  const int code =
      sqlite3_prepare_v3(database_.get(), sql, -1, SQLITE_PREPARE_PERSISTENT, &statement, nullptr);
  if (code != SQLITE_OK) return failure(code);
  return SqliteStatement(statement);
}

Result<void> SqliteConnection::finish(sqlite3_stmt* statement) {
  const int code = sqlite3_step(statement);
  Result<void> answer;
  if (code != SQLITE_DONE && code != SQLITE_ROW) answer = failure(code);
  sqlite3_reset(statement);
  sqlite3_clear_bindings(statement);
  return answer;
}

// Where SQLite has not done so itself.
void SqliteConnection::roll_back() {
  if (sqlite3_get_autocommit(database_.get()) == 0) static_cast<void>(run("ROLLBACK"));
}

}  // namespace holdfast::tier
