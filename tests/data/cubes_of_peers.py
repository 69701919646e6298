#!/usr/bin/env python3
"""Cubes that other programs wrote are read as these read them themselves: ENVI by the package spectral, npy and npz by
NumPy, HDF5 by h5py, COCO by pycocotools. What Stoker read is looked up in its cache, number by number.

  cubes_of_peers.py STOKER
"""
import importlib.util
import json
import os
import subprocess
import sys
import tempfile
import warnings
from pathlib import Path

SKIPPED = 77


class Reader:
    """Runs documents of one card in a folder of its own."""

    def __init__(self, stoker, folder):
        self.stoker = stoker
        self.folder = folder
        self.count = 0

    def program(self, *words, limit=None):
        environment = dict(os.environ, **({"STOKER_MEMORY_LIMIT": str(limit)} if limit else {}))
        return subprocess.run([self.stoker, *words], cwd=self.folder, capture_output=True, text=True, env=environment)

    def read(self, path, limit=None, **settings):
        """Values, masks (or none) and what is known of the cubes."""
        self.count += 1
        work = self.folder / f"run{self.count}"
        document = {"version": 1, "name": "look", "cards": {"load": {"type": "data_load", "config": {
            "source": "cubes", "path": str(path), **settings}}}}
        (self.folder / "look.json").write_text(json.dumps(document))
        done = self.program("run", "look.json", "--out", str(work), "--quiet", limit=limit)
        assert done.returncode == 0, done.stderr
        (kept,) = work.glob(".cache/*/*/dataset.cubes.json")
        masks = kept.with_name("dataset.masks.npy")
        return (numpy.load(kept.with_name("dataset.cubes.npy")), numpy.load(masks) if masks.exists() else None,
                json.loads(kept.read_text()))


def same(found, expected, what):
    assert found.shape == expected.shape, f"{what}: {found.shape} in place of {expected.shape}"
    assert numpy.array_equal(found, expected.astype(numpy.float32), equal_nan=True), f"{what}: other numbers"


def check_envi(reader, folder, random):
    count = 0
    for interleave in ("bsq", "bil", "bip"):
        for dtype in ("uint8", "int16", "int32", "float32", "float64", "uint16", "uint32", "int64", "uint64"):
            for order in (0, 1):
                shape = tuple(int(n) for n in random.integers(2, 40, 3))
                cube = (random.uniform(0, 200, shape)).astype(dtype)
                wavelengths = [round(400 + 7.25 * i, 2) for i in range(shape[2])]
                file = folder / f"{interleave}_{dtype}_{order}.hdr"
                envi.save_image(str(file), cube, dtype=dtype, interleave=interleave, byteorder=order, force=True,
                                metadata={"wavelength": wavelengths, "wavelength units": "Nanometers"})
                peer = numpy.asarray(envi.open(str(file)).load(dtype=numpy.float64))
                values, _, told = reader.read(file)
                same(values, peer[None], file.name)
                assert told["wavelengths"] == wavelengths, file.name
                count += 1
    file = folder / "scaled.hdr"
    cube = random.integers(0, 10000, (5, 6, 7)).astype("uint16")
    envi.save_image(str(file), cube, interleave="bil", force=True, metadata={"reflectance scale factor": 10000})
    peer = numpy.asarray(envi.open(str(file)).load())
    found = reader.read(file)[0]
    assert numpy.allclose(found, peer[None], rtol=1e-6, atol=0), "the scale factor"
    same(reader.read(file, processing="raw")[0], cube[None], "raw numbers")
    return count + 2


def check_arrays(reader, folder, random):
    cubes = random.normal(size=(4, 6, 5, 3)).astype("float32")
    masks = random.integers(0, 3, (4, 6, 5)).astype("uint8")
    wavelengths = numpy.array([450.12, 550.5, 650], dtype="float32")
    numpy.save(folder / "a.npy", cubes)
    same(reader.read(folder / "a.npy")[0], cubes, "npy")
    numpy.save(folder / "large.npy", numpy.tile(cubes, (2000, 1, 1, 1)))
    same(reader.read(folder / "large.npy", limit=1 << 20)[0], numpy.tile(cubes, (2000, 1, 1, 1)), "a mapped file")
    for save, name in ((numpy.savez, "stored.npz"), (numpy.savez_compressed, "packed.npz")):
        save(folder / name, cube=cubes, mask=masks, wavelengths=wavelengths, names=numpy.array(["x", "y"]))
        found, marked, told = reader.read(folder / name)
        same(found, cubes, name)
        same(marked, masks, name + ", masks")
        assert told["wavelengths"] == [450.12, 550.5, 650], told["wavelengths"]
    for name, turned in (("columns3.npy", cubes[0]), ("columns4.npy", cubes.astype("float64"))):
        numpy.save(folder / name, numpy.asfortranarray(turned))
        same(reader.read(folder / name)[0], turned.reshape((-1, 6, 5, 3)), name)
    numpy.savez_compressed(folder / "columns.npz", cube=numpy.asfortranarray(cubes), mask=numpy.asfortranarray(masks))
    found, marked, _ = reader.read(folder / "columns.npz")
    same(found, cubes, "columns first, packed")
    same(marked, masks, "masks whose columns come first, packed")
    numpy.savez(folder / "both.npz", one=cubes[0], two=cubes[1].astype("float64"))
    found, _, told = reader.read(folder / "both.npz")
    same(found, cubes[:2], "two arrays")
    assert told["names"] == ["both/one", "both/two"], told["names"]
    same(reader.read(folder / "both.npz", cube_key="two")[0], cubes[1:2], "cube_key")
    return 9


def check_hdf5(reader, folder, random):
    if importlib.util.find_spec("h5py") is None:
        return 0
    import h5py
    cubes = random.normal(size=(3, 4, 5, 6))
    masks = random.integers(0, 2, (3, 4, 5)).astype(bool)
    with h5py.File(folder / "a.h5", "w") as file:
        file["cubes"] = cubes.astype("float32")
        file.create_dataset("masks", data=masks)
        file["wavelengths"] = numpy.linspace(400, 900, 6)
        group = file.create_group("flights")
        for i in range(3):
            group.create_dataset(f"f{i}", data=(1000 * cubes[i]).astype("int16"), compression="gzip", chunks=(2, 3, 6))
    found, marked, told = reader.read(folder / "a.h5")
    same(found, cubes.astype("float32"), "HDF5")
    same(marked, masks, "HDF5, masks")
    assert told["wavelengths"] == [400, 500, 600, 700, 800, 900]
    found, _, told = reader.read(folder / "a.h5", cube_key="/flights", mask_key="masks")
    same(found, (1000 * cubes).astype("int16"), "a group of HDF5")
    assert told["names"] == ["a/f0", "a/f1", "a/f2"], told["names"]
    with h5py.File(folder / "groups.h5", "w") as file:
        file["scene/cube"] = cubes[0]
        file["scene/wavelengths"] = numpy.linspace(400, 900, 6)
        file["truth/mask"] = masks[0]
    found, marked, told = reader.read(folder / "groups.h5", cube_key="scene/cube", mask_key="truth/mask")
    same(found, cubes[:1], "datasets in groups alone")
    same(marked, masks[:1], "datasets in groups alone, masks")
    assert reader.read(folder / "groups.h5", cube_key="scene")[2]["wavelengths"][0] == 400
    refused = reader.program("preview", f"cubes:{folder / 'groups.h5'}")
    assert refused.returncode == 2 and "cube_key" in refused.stderr, refused.stderr
    return 4


def check_coco(reader, folder, random):
    height, width = 40, 60
    numpy.save(folder / "scene.npy", random.normal(size=(height, width, 2)).astype("float32"))
    shapes = [[5.5, 3, 30, 8.2, 22, 31, 9, 20.7], [40, 10, 55.3, 12, 50, 38.8]]
    packed = mask.encode(numpy.asfortranarray(random.integers(0, 2, (height, width)).astype("uint8")))
    (folder / "marks.json").write_text(json.dumps({
        "images": [{"id": 3, "file_name": "scene.png", "height": height, "width": width}],
        "categories": [{"id": 1, "name": "a"}, {"id": 2, "name": "b"}],
        "annotations": [
            {"id": 1, "image_id": 3, "category_id": 2, "segmentation": {"size": [height, width],
                                                                       "counts": packed["counts"].decode()}},
            {"id": 2, "image_id": 3, "category_id": 1, "segmentation": shapes}]}))
    expected = mask.decode(packed) * 2
    expected[mask.decode(mask.merge(mask.frPyObjects(shapes, height, width))) == 1] = 1
    same(reader.read(folder / "scene.npy", mask_path=str(folder / "marks.json"))[1], expected[None], "COCO")
    return 1


def main():
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        reader = Reader(str(Path(sys.argv[1]).resolve()), folder)
        random = numpy.random.default_rng(42)
        count = sum(check(reader, folder, random) for check in (check_envi, check_arrays, check_hdf5, check_coco))
        print(f"{count} sources are read as their makers read them")


if __name__ == "__main__":
    missing = [each for each in ("numpy", "spectral", "pycocotools") if importlib.util.find_spec(each) is None]
    if missing:
        print("skipped: there is no", ", ".join(missing))
        sys.exit(SKIPPED)
    import numpy
    from pycocotools import mask
    from spectral.io import envi
    warnings.filterwarnings("ignore")
    main()
