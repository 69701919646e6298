import { useEffect, useMemo, useRef } from 'react';
import { text } from '../text';
import { bandsOf, pixelsOf, spectraOf, type CubesLook, type CubeSight } from './cube_picture';
import { Facts } from './Facts';
import { count, figure } from './format';
import { Legend } from './Legend';
import { Plot } from './Plot';

function Picture({ sight, label }: { sight: CubeSight; label: string }) {
  const place = useRef<HTMLCanvasElement>(null);
  useEffect(() => {
    const paper = place.current?.getContext('2d');
    paper?.putImageData(new ImageData(pixelsOf(sight), sight.width, sight.height), 0, 0);
  }, [sight]);
  return <canvas ref={place} className="cube-picture" width={sight.width} height={sight.height} role="img" aria-label={label} title={label} />;
}

// Hyperspectral cubes as a preview tells of them: what they are, one of them in false colour, and its spectra.
export function CubesView({ cubes }: { cubes: CubesLook }) {
  const words = text.cubes;
  const spectra = useMemo(() => spectraOf(cubes, words.spectrum), [cubes, words]);
  const waves = cubes.wavelengths;
  const range = waves.length === 0 ? words.notKnown : words.nm(figure(Math.min(...waves)), figure(Math.max(...waves)));
  const pixels = cubes.with_masks * cubes.height * cubes.width;
  const { sight } = cubes;
  return (
    <section className="cubes">
      <h2>{words.title}</h2>
      <Facts
        facts={[
          [words.count, count(cubes.count)],
          [words.size, words.sizeOf(count(cubes.height), count(cubes.width), count(cubes.channels))],
          [words.wavelengths, range],
          [words.values, words.range(figure(cubes.lowest), figure(cubes.highest))],
          cubes.nan_pixels > 0 ? [words.nan, count(cubes.nan_pixels)] : null,
          cubes.infinite_pixels > 0 ? [words.infinite, count(cubes.infinite_pixels)] : null,
          [words.masks, cubes.with_masks === 0 ? words.noMasks : words.ofCubes(count(cubes.with_masks))],
          ...cubes.classes.map((each): [string, string] => [each.name || words.pixelClass(each.class), words.share(count(each.pixels), figure((100 * each.pixels) / Math.max(1, pixels)))]),
        ]}
      />
      {sight && (
        <>
          <h2 className="form-title">{words.oneCube} <span className="plain-name">{sight.cube}</span></h2>
          <Picture sight={sight} label={words.picture(sight.cube, bandsOf(cubes), sight.mask.some((each) => each > 0))} />
          <p className="secondary">{words.bands(bandsOf(cubes))}{sight.mask.some((each) => each > 0) && ` ${words.outline}`}</p>
          <h2 className="form-title">{words.spectra}</h2>
          <Legend series={spectra} />
          <Plot label={words.spectraLabel(sight.cube)} series={spectra} height={150} xTitle={waves.length > 0 ? words.xWave : words.xChannel} />
        </>
      )}
    </section>
  );
}
