#include "data/planned_network.h"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <cstring>
#include <string_view>

#include <arpa/inet.h>
#include <dlfcn.h>
#include <netdb.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include "patience.h"

namespace stoker::test {

PlannedNetwork& planned_network() {
  static PlannedNetwork network;
  return network;
}

namespace {

void hang() {
  comes_true([] { return planned_network().lookup_may_end.load(); });
  planned_network().lookup_has_ended = true;
}

std::vector<std::string> next_answer() {
  PlannedNetwork& network = planned_network();
  const std::size_t last = network.answers.size() - 1;
  return network.answers.at(std::min(last, static_cast<std::size_t>(network.lookups++)));
}

template <class Call>
Call* real(const char* name) {
  return reinterpret_cast<Call*>(::dlsym(RTLD_NEXT, name));
}

}  // namespace
}  // namespace stoker::test

extern "C" int getaddrinfo(const char* host, const char* service, const addrinfo* hints, addrinfo** found) {
  using namespace stoker::test;
  static const auto look_up = real<decltype(::getaddrinfo)>("getaddrinfo");
  if (host != nullptr && std::string_view(host) == "hangs.invalid") {
    hang();
    return EAI_AGAIN;
  }
  if (host == nullptr || std::string_view(host) != "moves.invalid")
    return look_up(host, service, hints, found);
  *found = nullptr;
  addrinfo** end = found;
  const std::vector<std::string> answer = next_answer();
  if (answer.empty()) return EAI_NONAME;
  for (const std::string& each : answer) {
    if (const int problem = look_up(each.c_str(), service, hints, end); problem != 0) return problem;
    while (*end != nullptr) end = &(*end)->ai_next;
  }
  return 0;
}

extern "C" int connect(int socket, const sockaddr* address, socklen_t size) {
  using namespace stoker::test;
  static const auto connect_really = real<decltype(::connect)>("connect");
  if (address->sa_family != AF_INET) return connect_really(socket, address, size);
  sockaddr_in changed{};
  std::memcpy(&changed, address, sizeof changed);
  std::array<char, INET_ADDRSTRLEN> text{};
  inet_ntop(AF_INET, &changed.sin_addr, text.data(), text.size());
  planned_network().connections.emplace_back(text.data());
  if (std::string_view(text.data()) == PlannedNetwork::public_address) {
    changed.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    changed.sin_port = htons(static_cast<std::uint16_t>(planned_network().port_of_public_address));
  }
  return connect_really(socket, reinterpret_cast<const sockaddr*>(&changed), sizeof changed);
}
