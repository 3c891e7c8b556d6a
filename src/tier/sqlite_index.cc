#include "tier/sqlite_index.h"

#include <sqlite3.h>

#include <cstring>
#include <optional>

#include "tier/blob_layout.h"

namespace holdfast::tier {

namespace {

// Its number in the file (`user_version`). Another one: the index is rebuilt.
constexpr int kVersion = 1;

constexpr const char* kSchema = R"(
  CREATE TABLE blob(
    key BLOB PRIMARY KEY, kind INT, space BLOB, anchor BLOB, after BLOB, begin INT, "end" INT,
    bytes INT, parts INT, marks INT, saves INT, created INT, used INT, tokens BLOB);
  CREATE INDEX blob_anchor ON blob(space, anchor);
  PRAGMA user_version = 1;
)";
constexpr const char* kColumns =
    "key, kind, space, anchor, after, begin, \"end\", bytes, parts, marks, saves, created, used";

constexpr int kCompanionPart = 1;
constexpr int kLogitsPart = 2;

template <typename Bytes>
void bind_value(sqlite3_stmt* statement, int at, const Bytes& bytes) {
  const auto view = std::as_bytes(std::span(bytes));
  // An empty blob is not NULL.
  const void* data = view.empty() ? "" : static_cast<const void*>(view.data());
  sqlite3_bind_blob64(statement, at, data, view.size(), SQLITE_TRANSIENT);
}
void bind_value(sqlite3_stmt* statement, int at, std::int64_t value) {
  sqlite3_bind_int64(statement, at, value);
}

// Reads the columns of a row; what is not of the expected kind makes it invalid.
class Row {
 public:
  explicit Row(sqlite3_stmt* statement) : statement_(statement) {}

  template <std::size_t N>
  void read(std::array<std::byte, N>& out) {
    const auto bytes = blob();
    if (bytes.size() != N) {
      valid_ = false;
    } else {
      std::memcpy(out.data(), bytes.data(), N);
    }
  }
  void read(Tokens& out) {
    const auto bytes = blob();
    valid_ = valid_ && bytes.size() % sizeof(Token) == 0;
    out.resize(bytes.size() / sizeof(Token));
    if (!out.empty()) std::memcpy(out.data(), bytes.data(), out.size() * sizeof(Token));
  }
  [[nodiscard]] SpaceKey space() {
    std::array<std::byte, 16> bytes{};
    read(bytes);
    return {blob_layout::get<std::uint64_t>(bytes, 0), blob_layout::get<std::uint64_t>(bytes, 8)};
  }
  [[nodiscard]] std::int64_t number(std::int64_t least, std::int64_t most) {
    valid_ = valid_ && sqlite3_column_type(statement_, at_) == SQLITE_INTEGER;
    const std::int64_t value = sqlite3_column_int64(statement_, at_++);
    valid_ = valid_ && least <= value && value <= most;
    return value;
  }
  [[nodiscard]] bool valid() const { return valid_; }
  void refuse_unless(bool condition) { valid_ = valid_ && condition; }

 private:
  std::span<const std::byte> blob() {
    const bool is_blob = sqlite3_column_type(statement_, at_) == SQLITE_BLOB;
    const auto* data = static_cast<const std::byte*>(sqlite3_column_blob(statement_, at_));
    const int size = sqlite3_column_bytes(statement_, at_++);
    valid_ = valid_ && is_blob;
    if (!is_blob || data == nullptr) return {};
    return {data, static_cast<std::size_t>(size)};
  }

  sqlite3_stmt* statement_;
  int at_ = 0;
  bool valid_ = true;
};

std::optional<IndexEntry> read_entry(sqlite3_stmt* statement, bool with_tokens) {
  constexpr std::int64_t kAny = INT64_MAX;
  Row row(statement);
  IndexEntry entry;
  BlobFacts& facts = entry.facts;
  row.read(facts.key.bytes);
  facts.kind = static_cast<BlobKind>(row.number(1, 2));
  facts.path.space = row.space();
  row.read(facts.path.anchor.bytes);
  row.read(facts.after.bytes);
  facts.path.range.begin = static_cast<TokenPos>(row.number(0, blob_layout::kPositionMax));
  facts.path.range.end = static_cast<TokenPos>(row.number(1, blob_layout::kPositionMax));
  facts.bytes = static_cast<ByteCount>(row.number(0, kAny));
  const std::int64_t parts = row.number(0, kCompanionPart | kLogitsPart);
  facts.companion = (parts & kCompanionPart) != 0;
  facts.logits = (parts & kLogitsPart) != 0;
  facts.marks = blob_layout::hints_of(static_cast<std::uint32_t>(row.number(0, 0xffff)));
  facts.saves = static_cast<std::uint64_t>(row.number(INT64_MIN, kAny));
  facts.created_ms = row.number(INT64_MIN, kAny);
  entry.used_ms = row.number(INT64_MIN, kAny);
  if (with_tokens) {
    row.read(facts.path.tokens);
    row.refuse_unless(facts.path.first() >= 0 && facts.path.first() % kBlockTokens == 0 &&
                      facts.path.first() <= facts.path.range.begin &&
                      facts.path.range.begin <= facts.path.range.end);
  }
  if (!row.valid()) return std::nullopt;
  return entry;
}

}  // namespace

// --- connecting ----------------------------------------------------------------------

Result<std::unique_ptr<BlobIndex>> SqliteIndex::open(FileSystem& files, StoreRole role) {
  std::unique_ptr<SqliteIndex> index(new SqliteIndex(files, role));
  auto connected = index->connect();
  if (!connected && role == StoreRole::kWriter) connected = index->clear();
  if (!connected) return connected.error();
  return std::unique_ptr<BlobIndex>(std::move(index));
}

SqliteIndex::~SqliteIndex() { disconnect(); }

// Statements before the database they belong to.
void SqliteIndex::disconnect() {
  for (SqliteStatement* statement : {&put_, &erase_, &touch_, &revalue_, &along_, &list_, &totals_})
    statement->reset();
  connection_.close();
}

// SQLite gives its other files the mode of this one, so this one is made by us.
Result<void> SqliteIndex::connect() {
  if (role_ == StoreRole::kWriter) {
    const auto made = uninterrupted([&] { return files_.create(kFile); });
    if (!made.ok() && made.error != EEXIST) return io_error("the index cannot be made", made.error);
  }
  const auto access = role_ == StoreRole::kWriter ? SqliteConnection::Access::kReadWrite
                                                  : SqliteConnection::Access::kRead;
  if (auto opened = connection_.open(files_.root() + "/" + kFile, access); !opened) return opened;
  if (auto ready = set_up(); !ready) return ready;
  return prepare_all();
}

Result<void> SqliteIndex::set_up() {
  if (auto safe = connection_.run("PRAGMA trusted_schema = OFF; PRAGMA cell_size_check = ON;");
      !safe)
    return safe;
  if (role_ == StoreRole::kWriter) {
    if (auto mode = connection_.run("PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL;"
                                    "PRAGMA journal_size_limit = 4194304;");
        !mode)
      return mode;
  }
  auto asked = connection_.prepare("PRAGMA user_version");
  if (!asked) return asked.error();
  if (const int code = sqlite3_step(asked->get()); code != SQLITE_ROW)
    return connection_.failure(code);
  const int version = sqlite3_column_int(asked->get(), 0);
  asked->reset();
  if (version == kVersion) return {};
  if (version == 0 && role_ == StoreRole::kWriter) return connection_.run(kSchema);
  return Error{ErrorCode::kInvalidArgument, "the index is of another version", {}};
}

Result<void> SqliteIndex::prepare_all() {
  const std::string columns = kColumns;
  const std::pair<SqliteStatement*, std::string> wanted[] = {
      {&put_, "INSERT OR REPLACE INTO blob(" + columns +
                  ", tokens) VALUES(?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14)"},
      {&erase_, "DELETE FROM blob WHERE key = ?1"},
      {&touch_, "UPDATE blob SET used = ?2 WHERE key = ?1"},
      {&revalue_, "UPDATE blob SET used = ?2, saves = ?3 WHERE key = ?1"},
      {&along_, "SELECT " + columns + ", tokens FROM blob WHERE space = ?1 AND anchor = ?2"},
      {&list_, "SELECT " + columns + " FROM blob"},
      // Rows that list() would leave out for these two columns are left out.
      {&totals_,
       "SELECT space, count(*), sum(bytes) FROM blob NOT INDEXED WHERE typeof(space) = 'blob' AND "
       "length(space) = 16 AND typeof(bytes) = 'integer' AND bytes BETWEEN 0 AND 1125899906842624 "
       "GROUP BY space"}};
  for (const auto& [statement, sql] : wanted) {
    auto prepared = connection_.prepare(sql.c_str());
    if (!prepared) return prepared.error();
    *statement = std::move(*prepared);
  }
  return {};
}

Result<void> SqliteIndex::clear() {
  disconnect();
  for (const char* ending : {"", "-wal", "-shm", "-journal"}) {
    const int error = uninterrupted([&] { return files_.remove(kFile + ending); });
    if (error != 0 && error != ENOENT)
      return io_error("the damaged index cannot be removed", error);
  }
  auto connected = connect();
  if (!connected) disconnect();
  return connected;
}

// --- changing ------------------------------------------------------------------------

Result<void> SqliteIndex::put_one(const IndexEntry& entry) {
  const BlobFacts& facts = entry.facts;
  sqlite3_stmt* const s = put_.get();
  const int parts = (facts.companion ? kCompanionPart : 0) | (facts.logits ? kLogitsPart : 0);
  bind_value(s, 1, facts.key.bytes);
  bind_value(s, 2, static_cast<std::int64_t>(facts.kind));
  bind_value(s, 3, space_bytes(facts.path.space));
  bind_value(s, 4, facts.path.anchor.bytes);
  bind_value(s, 5, facts.after.bytes);
  bind_value(s, 6, std::int64_t{facts.path.range.begin});
  bind_value(s, 7, std::int64_t{facts.path.range.end});
  bind_value(s, 8, static_cast<std::int64_t>(facts.bytes));
  bind_value(s, 9, std::int64_t{parts});
  bind_value(s, 10, std::int64_t{blob_layout::bits_of(facts.marks)});
  bind_value(s, 11, static_cast<std::int64_t>(facts.saves));
  bind_value(s, 12, facts.created_ms);
  bind_value(s, 13, entry.used_ms);
  bind_value(s, 14, facts.path.tokens);
  return connection_.finish(s);
}

Result<void> SqliteIndex::put(std::span<const IndexEntry> entries) {
  return connection_.in_transaction([&]() -> Result<void> {
    for (const IndexEntry& entry : entries) {
      if (auto done = put_one(entry); !done) return done;
    }
    return {};
  });
}

Result<void> SqliteIndex::erase(std::span<const BlobKey> keys) {
  return connection_.in_transaction([&]() -> Result<void> {
    for (const BlobKey& key : keys) {
      bind_value(erase_.get(), 1, key.bytes);
      if (auto done = connection_.finish(erase_.get()); !done) return done;
    }
    return {};
  });
}

Result<void> SqliteIndex::touch(std::span<const BlobKey> keys, std::int64_t now_ms) {
  return connection_.in_transaction([&]() -> Result<void> {
    for (const BlobKey& key : keys) {
      bind_value(touch_.get(), 1, key.bytes);
      bind_value(touch_.get(), 2, now_ms);
      if (auto done = connection_.finish(touch_.get()); !done) return done;
    }
    return {};
  });
}

Result<void> SqliteIndex::revalue(std::span<const BlobWorth> worths, std::int64_t now_ms) {
  return connection_.in_transaction([&]() -> Result<void> {
    for (const BlobWorth& worth : worths) {
      bind_value(revalue_.get(), 1, worth.key.bytes);
      bind_value(revalue_.get(), 2, now_ms);
      bind_value(revalue_.get(), 3, static_cast<std::int64_t>(worth.saves));
      if (auto done = connection_.finish(revalue_.get()); !done) return done;
    }
    return {};
  });
}

// --- asking --------------------------------------------------------------------------

// One transaction for all anchors: a reader sees one state of the index, and opens the
// file once.
Result<std::vector<IndexEntry>> SqliteIndex::along(SpaceKey space,
                                                   std::span<const PathName> anchors) {
  if (auto begun = connection_.run("BEGIN"); !begun) return begun.error();
  std::vector<IndexEntry> found;
  sqlite3_stmt* const s = along_.get();
  int code = SQLITE_DONE;
  for (std::size_t i = 0; i < anchors.size() && code == SQLITE_DONE; ++i) {
    bind_value(s, 1, space_bytes(space));
    bind_value(s, 2, anchors[i].bytes);
    while ((code = sqlite3_step(s)) == SQLITE_ROW) {
      if (auto entry = read_entry(s, true)) found.push_back(std::move(*entry));
    }
    sqlite3_reset(s);
  }
  std::optional<Error> error;
  if (code != SQLITE_DONE) error = connection_.failure(code);
  static_cast<void>(connection_.run("COMMIT"));
  if (error) return *error;
  return found;
}

Result<std::vector<BlobSummary>> SqliteIndex::list() {
  if (!connection_.is_open()) return Error{ErrorCode::kIo, "the index is not open", {}};
  std::vector<BlobSummary> all;
  sqlite3_stmt* const s = list_.get();
  int code = SQLITE_DONE;
  while ((code = sqlite3_step(s)) == SQLITE_ROW) {
    if (const auto entry = read_entry(s, false)) all.push_back(summary_of(*entry));
  }
  std::optional<Error> error;
  if (code != SQLITE_DONE) error = connection_.failure(code);
  sqlite3_reset(s);
  if (error) return *error;
  return all;
}

Result<std::vector<SpaceTotal>> SqliteIndex::totals() {
  if (!connection_.is_open()) return Error{ErrorCode::kIo, "the index is not open", {}};
  std::vector<SpaceTotal> all;
  sqlite3_stmt* const s = totals_.get();
  int code = SQLITE_DONE;
  while ((code = sqlite3_step(s)) == SQLITE_ROW) {
    Row row(s);
    SpaceTotal total;
    total.space = row.space();
    total.blobs = static_cast<std::uint64_t>(row.number(0, INT64_MAX));
    total.bytes = static_cast<ByteCount>(row.number(0, INT64_MAX));
    if (row.valid()) all.push_back(total);
  }
  std::optional<Error> error;
  if (code != SQLITE_DONE) error = connection_.failure(code);
  sqlite3_reset(s);
  if (error) return *error;
  return all;
}

}  // namespace holdfast::tier
