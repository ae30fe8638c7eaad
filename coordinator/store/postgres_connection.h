#ifndef TANGRAM_COORDINATOR_STORE_POSTGRES_CONNECTION_H_
#define TANGRAM_COORDINATOR_STORE_POSTGRES_CONNECTION_H_

#include <libpq-fe.h>

#include <string>

namespace tangram {

// Locks the tables until the transaction ends, so that coordinators that start
// at once do not collide. The number of the lock is "TNGR" in ASCII, which
// others hardly use.
inline constexpr char kLockSchemaSql[] =
    "SELECT pg_advisory_xact_lock(1414416210)";

// Connects, and waits for the server for at most 3 s. TCP then notices within
// seconds that it is gone. PQstatus says whether there is a connection; the
// caller must PQfinish it in any case. `connection` is that of
// OpenPostgresDatabase.
PGconn* ConnectToPostgres(const std::string& connection);

}  // namespace tangram

#endif  // TANGRAM_COORDINATOR_STORE_POSTGRES_CONNECTION_H_
