#include "base/hash.h"

#include <gtest/gtest.h>

#include "base/error.h"
#include "base/files/files.h"
#include "base/no_descriptors.h"

namespace stoker {
namespace {

// The example of FIPS 180-2, appendix B.1.
constexpr const char* abc = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";

TEST(Sha256, GivesThePublishedDigest) {
  EXPECT_EQ(sha256_of_text("abc"), abc);
}

TEST(Sha256, OfAFileIsThatOfItsContent) {
  const TemporaryFolder folder;
  write_file(folder.path() / "a", "abc");
  EXPECT_EQ(sha256_of_file(folder.path() / "a"), abc);
}

// Else a sweep would take it for the fault of the candidate whose file it was.
TEST(Sha256, OfAFileThatTheMachineCannotOpenIsTheMachinesFailure) {
  const TemporaryFolder folder;
  write_file(folder.path() / "a", "abc");
  const test::NoDescriptors none;
  try {
    sha256_of_file(folder.path() / "a");
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.cause(), Cause::machine);
    EXPECT_NE(std::string(error.what()).find("Too many open files"), std::string::npos) << error.what();
  }
}

}  // namespace
}  // namespace stoker
