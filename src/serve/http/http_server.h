#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>

#include "serve/http/http.h"
#include "serve/http/server_limits.h"

namespace stoker::serve {

struct ServerConfig {
  std::string host = "127.0.0.1";
  std::uint16_t port = 8000;          // 0: any that is free
  std::filesystem::path certificate;  // with the key: encrypted connections alone
  std::filesystem::path key;
  int workers = 10;  // threads that answer; some wait for programs (program_run.cpp)
  ServerLimits limits;
};

// HTTP/1.1 with connections that are kept, on one thread; answers are made on others.
class HttpServer {
 public:
  // Listens from here on; refuses an address that cannot be had.
  HttpServer(const ServerConfig& config, Site& site);
  HttpServer(const HttpServer&) = delete;
  HttpServer& operator=(const HttpServer&) = delete;
  ~HttpServer();

  std::uint16_t port() const;
  std::size_t connections() const;
  // Serves until stop() is called, from any thread; then lets answers that are under way come to an end.
  void serve();
  void stop();

 private:
  class Inside;
  std::unique_ptr<Inside> inside_;
};

}  // namespace stoker::serve
