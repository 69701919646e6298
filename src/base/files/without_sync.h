#pragma once

namespace stoker {

// While one is there, the files and folders that its thread writes are renamed without being synced: whole
// for whoever looks, also after this process was killed, but perhaps empty after a loss of power. For what is
// checked before it is used or nobody depends on: a sync takes longer than many a card.
class WithoutSync {
 public:
  WithoutSync();
  WithoutSync(const WithoutSync&) = delete;
  WithoutSync& operator=(const WithoutSync&) = delete;
  ~WithoutSync();

  static bool is_on();
};

}  // namespace stoker
