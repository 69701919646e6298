#include "data/format/hdf5_library.h"

#include <utility>

#include "base/error.h"
#include "base/process/shared_library.h"

namespace stoker::hdf5 {
namespace {

Id variable_of(const SharedLibrary& from, const char* name) {
  const void* const place = from.find_variable(name);
  if (place == nullptr) refuse("source hdf5: the library libhdf5 is too old, it lacks {}", name);
  return *static_cast<const Id*>(place);
}

bool has_met_external_link = false;

// Called by the library before it opens the file that an external link names. A negative result stops it.
int reject_external_link(const char*, const char*, const char*, const char*, unsigned*, Id, void*) {
  has_met_external_link = true;
  return -1;
}

Id access_inside(const SharedLibrary& from, const char* list_class) {
  Id (*create)(Id) = nullptr;
  int (*on_external_link)(Id, decltype(&reject_external_link), void*) = nullptr;
  from.find("H5Pcreate", create);
  from.find("H5Pset_elink_cb", on_external_link);
  const Id list = create(variable_of(from, list_class));
  if (list < 0 || on_external_link(list, reject_external_link, nullptr) < 0)
    fail("libhdf5 cannot be told to ignore external links");
  return list;
}

Library load_hdf5_library() {
  const SharedLibrary from({"libhdf5_serial.so.103", "libhdf5_serial.so.310", "libhdf5_serial.so",
                            "libhdf5.so.103", "libhdf5.so.200", "libhdf5.so.310", "libhdf5.so"},
                           "source hdf5", "libhdf5-103-1");
  int (*begin)() = nullptr;
  int (*version)(unsigned*, unsigned*, unsigned*) = nullptr;
  from.find("H5open", begin);
  from.find("H5get_libversion", version);
  unsigned major = 0;
  unsigned minor = 0;
  unsigned release = 0;
  if (begin() < 0 || version(&major, &minor, &release) < 0) fail("libhdf5 cannot be started");
  // Earlier ones have identifiers of 32 bits.
  if (major == 1 && minor < 10)
    refuse("source hdf5: the library libhdf5 is of version {}.{}; 1.10 or later is needed", major, minor);
  Library all{};
  from.find("H5Eset_auto2", all.silence);
  from.find("H5Fopen", all.open_file);
  from.find("H5Fclose", all.close_file);
  from.find("H5Dopen2", all.open_dataset);
  from.find("H5Dget_create_plist", all.creation_of);
  from.find("H5Pclose", all.close_properties);
  from.find("H5Pget_layout", all.layout);
  from.find("H5Pget_external_count", all.external_files);
  from.find("H5Pget_virtual_count", all.virtual_sources);
  from.find("H5Pget_virtual_filename", all.virtual_file);
  from.find("H5Oopen", all.open_object);
  from.find("H5Oclose", all.close_object);
  from.find("H5Iget_type", all.kind);
  from.find("H5Gget_info", all.group_info);
  from.find("H5Lget_name_by_idx", all.link_name);
  from.find("H5Dget_space", all.space);
  from.find("H5Sclose", all.close_space);
  from.find("H5Sget_simple_extent_ndims", all.dimensions);
  from.find("H5Sget_simple_extent_dims", all.sizes);
  from.find("H5Dget_type", all.type);
  from.find("H5Tclose", all.close_type);
  from.find("H5Tget_class", all.type_class);
  from.find("H5Tget_size", all.type_size);
  from.find("H5Tget_sign", all.sign);
  from.find("H5Tis_variable_str", all.is_variable_text);
  from.find("H5Tget_nmembers", all.members);
  from.find("H5Screate_simple", all.make_space);
  from.find("H5Sselect_hyperslab", all.select);
  from.find("H5Dread", all.read);
  from.find("H5Dvlen_reclaim", all.free_values);
  all.native_int8 = variable_of(from, "H5T_NATIVE_INT8_g");
  all.native_int16 = variable_of(from, "H5T_NATIVE_INT16_g");
  all.native_int32 = variable_of(from, "H5T_NATIVE_INT32_g");
  all.native_int64 = variable_of(from, "H5T_NATIVE_INT64_g");
  all.native_float = variable_of(from, "H5T_NATIVE_FLOAT_g");
  all.native_double = variable_of(from, "H5T_NATIVE_DOUBLE_g");
  all.links_inside = access_inside(from, "H5P_CLS_LINK_ACCESS_ID_g");
  all.datasets_inside = access_inside(from, "H5P_CLS_DATASET_ACCESS_ID_g");
  all.silence(code::usual, nullptr, nullptr);  // its own words would go to standard error
  return all;
}

}  // namespace

bool met_external_link() {
  return std::exchange(has_met_external_link, false);
}

const Library& library() {
  static const Library loaded = load_hdf5_library();
  return loaded;
}

}  // namespace stoker::hdf5
