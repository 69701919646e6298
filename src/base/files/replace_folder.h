#pragma once

#include <filesystem>

namespace stoker {

// Gives a folder the name of another, if there is one; that one then has the first name. Whoever looks sees
// one of them. Refuses to take the name of a file or a link.
void replace_folder(const std::filesystem::path& folder, const std::filesystem::path& name);

// The same where the file system cannot exchange two names: the old one steps aside, and for a moment none
// has the name. Then there may be nothing under the first name. put_back_replaced() mends what a process left
// that was killed in that moment.
void replace_folder_in_steps(const std::filesystem::path& folder, const std::filesystem::path& name);
void put_back_replaced(const std::filesystem::path& parent);

// False if something has that name already.
bool rename_if_free(const std::filesystem::path& folder, const std::filesystem::path& name);

}  // namespace stoker
