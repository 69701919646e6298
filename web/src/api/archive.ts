import { Zip, ZipPassThrough } from 'fflate';

const ofCubes = /\.(hdr|npy|npz|h5|hdf5)$/i;

// Whether several files may go to the service together, as those of a cube in ENVI form and of many cubes do.
export const belongTogether = (files: File[]) => files.some((each) => ofCubes.test(each.name));

// By the one header among them, else by what they are.
export function archiveName(files: File[]): string {
  const headers = files.filter((each) => /\.hdr$/i.test(each.name));
  return headers.length === 1 && headers[0] ? headers[0].name.replace(/\.hdr$/i, '.zip') : 'cubes.zip';
}

// One zip archive of them, none of them packed tighter. Pieces become blobs at once, which a browser may keep on disk.
export async function archiveOf(files: File[]): Promise<File> {
  const parts: Blob[] = [];
  const failures: Error[] = [];
  const zip = new Zip((failure, piece) => {
    if (failure) failures.push(failure);
    else parts.push(new Blob([piece as Uint8Array<ArrayBuffer>]));
  });
  for (const file of files) {
    const entry = new ZipPassThrough(file.name);
    zip.add(entry);
    const reader = file.stream().getReader();
    for (let read = await reader.read(); !read.done; read = await reader.read()) entry.push(read.value);
    entry.push(new Uint8Array(0), true);
  }
  zip.end();
  if (failures[0]) throw failures[0];
  return new File(parts, archiveName(files), { type: 'application/zip' });
}
