#pragma once

#include <cstddef>
#include <cstdint>

// The few functions of libhdf5 (1.10 and later) that are used, declared here: building needs no header of it,
// and what reads no HDF5 does not need the library.
namespace stoker::hdf5 {

using Id = std::int64_t;  // hid_t; below 0: an error
using Size = unsigned long long;

namespace code {
constexpr int usual = 0;  // H5P_DEFAULT, H5S_ALL, H5E_DEFAULT, H5F_ACC_RDONLY
constexpr int integer = 0;
constexpr int real = 1;
constexpr int text = 3;
constexpr int compound = 6;
constexpr int enumeration = 8;
constexpr int dataset = 5;         // H5I_DATASET
constexpr int virtual_layout = 3;  // H5D_VIRTUAL
}  // namespace code

struct GroupInfo {  // H5G_info_t
  int storage;
  Size links;
  std::int64_t order;
  bool is_mounted;
};

struct Library {
  int (*silence)(Id stack, void* function, void* data);
  Id (*open_file)(const char* path, unsigned flags, Id access);
  int (*close_file)(Id);
  Id (*open_dataset)(Id file, const char* path, Id access);
  Id (*creation_of)(Id dataset);  // property list that the dataset was created with
  int (*close_properties)(Id);
  int (*layout)(Id creation);
  int (*external_files)(Id creation);
  int (*virtual_sources)(Id creation, std::size_t* count);
  long (*virtual_file)(Id creation, std::size_t at, char* name, std::size_t size);
  Id (*open_object)(Id file, const char* path, Id access);
  int (*close_object)(Id);
  int (*kind)(Id);
  int (*group_info)(Id group, GroupInfo*);
  long (*link_name)(Id file, const char* group, int index, int order, Size at, char* name, std::size_t size,
                    Id access);
  Id (*space)(Id dataset);
  int (*close_space)(Id);
  int (*dimensions)(Id space);
  int (*sizes)(Id space, Size* sizes, Size* most);
  Id (*type)(Id dataset);
  int (*close_type)(Id);
  int (*type_class)(Id type);
  std::size_t (*type_size)(Id type);
  int (*sign)(Id type);  // 0: unsigned
  int (*is_variable_text)(Id type);
  int (*members)(Id type);
  Id (*make_space)(int dimensions, const Size* sizes, const Size* most);
  // A block of a space: from where on, and how much of each dimension.
  int (*select)(Id space, int operation, const Size* first, const Size* stride, const Size* count,
                const Size* block);
  int (*read)(Id dataset, Id memory_type, Id memory_space, Id file_space, Id transfer, void* values);
  int (*free_values)(Id type, Id space, Id transfer, void* values);
  // The processor's own types.
  Id native_int8;
  Id native_int16;
  Id native_int32;
  Id native_int64;
  Id native_float;
  Id native_double;
  // Access lists whose traversal of an external link fails (met_external_link() in hdf5_object.h).
  Id links_inside;
  Id datasets_inside;
};

// Whether a traversal with one of the `_inside` lists failed at an external link since the last call.
bool met_external_link();

// Refuses where it is not installed.
const Library& library();

}  // namespace stoker::hdf5
