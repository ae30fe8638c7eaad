#ifndef TANGRAM_COMMON_HTTP_MICRO_HTTP_H_
#define TANGRAM_COMMON_HTTP_MICRO_HTTP_H_

#include <microhttpd.h>

#include <cstdarg>
#include <string>
#include <utility>
#include <vector>

#include "common/http/http_server.h"

// The use of libmicrohttpd that the servers share; inside common/http only.
namespace tangram {

using HttpHeaders = std::vector<std::pair<const char*, const char*>>;

// Returns a header of the request; empty: none. Lines of the same name are
// joined by commas (RFC 9110, 5.3), so a second one cannot hide behind the
// first.
std::string HeaderOf(MHD_Connection* connection, const char* name);

int SocketOf(MHD_Connection* connection);

// Returns the address of the client, "127.0.0.1:1234"; empty: not known.
std::string PeerOf(MHD_Connection* connection);

// Queues the response, which is the last of its connection, with these headers,
// its own and those that every response has.
MHD_Result SendResponse(MHD_Connection* connection,
                        const HttpResponse& response,
                        const HttpHeaders& headers);

// A logger of the library: its errors are about what clients send.
void IgnoreMicroError(void* nothing, const char* format, va_list arguments);

}  // namespace tangram

#endif  // TANGRAM_COMMON_HTTP_MICRO_HTTP_H_
