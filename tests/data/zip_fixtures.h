#pragma once

#include <cstdint>
#include <string>
#include <vector>

// Archives as zip(1) writes them, by PKWARE's APPNOTE.TXT, independent of what reads them.
namespace stoker {

struct Member {
  std::string name;
  std::string content;
  bool deflated = false;
  unsigned flags = 0;
  unsigned mode = 0;  // of the file, as Unix has it
};

template <class Number>
std::string little_endian(Number number, std::size_t bytes) {
  std::string text;
  for (std::size_t i = 0; i < bytes; ++i) text += static_cast<char>(number >> (8 * i) & 0xff);
  return text;
}

// By the polynomial of ISO 3309, bit by bit.
inline std::uint32_t crc_of(const std::string& content) {
  std::uint32_t crc = 0xffffffff;
  for (const char each : content) {
    crc ^= static_cast<unsigned char>(each);
    for (int bit = 0; bit < 8; ++bit) crc = crc >> 1U ^ ((crc & 1U) != 0 ? 0xedb88320U : 0U);
  }
  return ~crc;
}

inline std::string zipped(const std::vector<Member>& members,
                          std::string (*deflate)(const std::string&) = nullptr) {
  std::string archive;
  std::string directory;
  for (const Member& member : members) {
    const std::string packed = member.deflated ? deflate(member.content) : member.content;
    const std::string about =
        little_endian(20U, 2) + little_endian(member.flags, 2) + little_endian(member.deflated ? 8U : 0U, 2) +
        little_endian(0U, 4) + little_endian(crc_of(member.content), 4) + little_endian(packed.size(), 4) +
        little_endian(member.content.size(), 4) + little_endian(member.name.size(), 2) + little_endian(0U, 2);
    directory += "PK\x01\x02" + little_endian(20U | (member.mode != 0 ? 3U << 8U : 0U), 2) + about +
                 std::string(6, '\0') + little_endian(std::uint64_t{member.mode} << 16U, 4) +
                 little_endian(archive.size(), 4) + member.name;
    archive += "PK\x03\x04" + about + member.name + packed;
  }
  const std::size_t begin = archive.size();
  return archive + directory + "PK\x05\x06" + std::string(4, '\0') + little_endian(members.size(), 2) +
         little_endian(members.size(), 2) + little_endian(directory.size(), 4) + little_endian(begin, 4) +
         std::string(2, '\0');
}

}  // namespace stoker
