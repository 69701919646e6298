#include "base/hash.h"

#include <array>

#include <openssl/evp.h>

#include "base/error.h"
#include "base/files.h"

namespace stoker {

struct Sha256::State {
  EVP_MD_CTX* context = EVP_MD_CTX_new();
  ~State() { EVP_MD_CTX_free(context); }
};

Sha256::Sha256() : state_(std::make_unique<State>()) {
  if (EVP_DigestInit_ex(state_->context, EVP_sha256(), nullptr) != 1)
    fail("SHA-256 is not available in OpenSSL");
}

Sha256::~Sha256() = default;

void Sha256::add(std::span<const std::byte> bytes) {
  EVP_DigestUpdate(state_->context, bytes.data(), bytes.size());
}

void Sha256::add(std::string_view text) {
  EVP_DigestUpdate(state_->context, text.data(), text.size());
}

std::string Sha256::finish() {
  std::array<unsigned char, 32> digest{};
  EVP_DigestFinal_ex(state_->context, digest.data(), nullptr);
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
