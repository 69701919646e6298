#pragma once

#include <filesystem>
#include <string>

#include "store/records.h"

namespace stoker {

// Jobs on record are run by the one service whose data folder has their files: this records which that is,
// by an id that the folder keeps (service.id) wherever it is moved to. Refuses the store of another folder,
// unless it is to be taken over, as when that folder is lost.
void own_store(Records& records, const std::filesystem::path& data, bool takes_over);

}  // namespace stoker
