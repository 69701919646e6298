#include "base/hash.h"

#include <array>

#include <fmt/format.h>

// The functions for SHA-256 alone: those that OpenSSL prefers load providers first, which costs milliseconds
// and crashes when memory runs out meanwhile.
#define OPENSSL_SUPPRESS_DEPRECATED
#include <openssl/sha.h>

#include "base/files/files.h"

namespace stoker {

struct Sha256::State {
  SHA256_CTX context{};
};

Sha256::Sha256() : state_(std::make_unique<State>()) {
  SHA256_Init(&state_->context);
}

Sha256::~Sha256() = default;

void Sha256::add(std::span<const std::byte> bytes) {
  SHA256_Update(&state_->context, bytes.data(), bytes.size());
}

void Sha256::add(std::string_view text) {
  SHA256_Update(&state_->context, text.data(), text.size());
}

std::string Sha256::finish() {
  std::array<unsigned char, SHA256_DIGEST_LENGTH> digest{};
  SHA256_Final(digest.data(), &state_->context);
  std::string text;
  for (const unsigned char byte : digest) text += fmt::format("{:02x}", byte);
  return text;
}

std::string sha256_of_text(std::string_view text) {
  Sha256 hash;
  hash.add(text);
  return hash.finish();
}

std::string sha256_of_file(const std::filesystem::path& path) {
  Sha256 hash;
  read_blocks(path, [&](std::string_view block) {
    hash.add(block);
    return true;
  });
  return hash.finish();
}

}  // namespace stoker
