#include "coordinator/store/postgres_connection.h"

namespace tangram {

PGconn* ConnectToPostgres(const std::string& connection) {
  // The connection string comes last and so overrides these defaults.
  static constexpr const char* kKeys[] = {
      "connect_timeout",  "tcp_user_timeout",
      "keepalives_idle",  "keepalives_interval",
      "keepalives_count", "application_name",
      "dbname",           nullptr};
  const char* values[] = {
      "3",    "5000", "5", "2", "3", "tangram-coordinator", connection.c_str(),
      nullptr};
  PGconn* const connected =
      PQconnectdbParams(kKeys, values, /*expand_dbname=*/1);
  // libpq prints notices to standard error otherwise.
  PQsetNoticeProcessor(
      connected, [](void*, const char*) {}, nullptr);
  return connected;
}

}  // namespace tangram
