#pragma once

#include <filesystem>
#include <memory>

#include "store/records.h"
#include "store/service_lock.h"

namespace stoker {

// Jobs on record are run by the one service whose data folder has their files: this records which that is,
// by an id that the folder keeps (service.id) wherever it is moved to. Rejects the store of a service that is
// running, and that of another folder unless it is to be taken over, as when that folder is lost. Rejects a
// store without records if the folder has jobs. The store is this service's own while the lock is held.
std::unique_ptr<ServiceLock> own_store(Records& records, const std::filesystem::path& data, bool takes_over);

// Whether no service has worked with the store yet and no job is in it.
bool is_unused_store(Records& records);

}  // namespace stoker
