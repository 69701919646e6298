#include <atomic>

#include <dlfcn.h>
#include <gtest/gtest.h>

#include "base/files/files.h"
#include "pipeline/watchers.h"

// Every sync goes through here, so that they can be counted.
namespace {

std::atomic<int> syncs{0};

}  // namespace

extern "C" int fsync(int descriptor) {
  static const auto real = reinterpret_cast<int (*)(int)>(::dlsym(RTLD_NEXT, "fsync"));
  ++syncs;
  return real(descriptor);
}

namespace stoker {
namespace {

TEST(ManyCards, DoNotEachWaitForTheDisk) {
  constexpr int cards = 500;
  std::string text = "version: 1\nname: many\ncards:\n";
  for (int i = 0; i < cards; ++i)
    text += fmt::format(
        "  m{}: {{ type: model_define, config: {{ model_type: ridge, hyperparameters: {{ alpha: {} }} }} "
        "}}\n",
        i, i + 1);
  const TemporaryFolder folder;
  const int before = syncs;
  const Watched run = run_watched(document_of(text), options_in(folder.path()));
  EXPECT_GT(syncs - before, 0);
  EXPECT_LT(syncs - before, cards);
  EXPECT_EQ(read_record({run.summary.folder}).cards.size(), static_cast<std::size_t>(cards));
}

}  // namespace
}  // namespace stoker
