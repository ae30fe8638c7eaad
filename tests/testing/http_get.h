#ifndef TANGRAM_TESTS_TESTING_HTTP_GET_H_
#define TANGRAM_TESTS_TESTING_HTTP_GET_H_

#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <string>

namespace tangram::testing {

// Sends one HTTP/1.0 GET to a server on this host and returns the whole
// response; empty if there is none.
inline std::string HttpGet(int port, const std::string& path) {
  const int fd = socket(AF_INET, SOCK_STREAM, 0);
  sockaddr_in server = {};
  server.sin_family = AF_INET;
  server.sin_port = htons(static_cast<uint16_t>(port));
  server.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  std::string response;
  if (connect(fd, reinterpret_cast<sockaddr*>(&server), sizeof(server)) == 0) {
    const std::string request = "GET " + path + " HTTP/1.0\r\n\r\n";
    (void)!write(fd, request.data(), request.size());
    char buffer[4096];
    for (ssize_t n = 0; (n = read(fd, buffer, sizeof(buffer))) > 0;) {
      response.append(buffer, n);
    }
  }
  close(fd);
  return response;
}

}  // namespace tangram::testing

#endif  // TANGRAM_TESTS_TESTING_HTTP_GET_H_
