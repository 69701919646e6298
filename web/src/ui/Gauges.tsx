import { jobs } from '../text/jobs';
import { bytes } from './format';
import { Meter } from './Meter';
import { useAnswer } from '../api/answers';

interface Gpu {
  gpu: number;
  model: string;
  busy: number;
  watts: number;
  celsius: number;
  used_bytes: number;
  total_bytes: number;
  device?: string;
}

interface DeviceGauges {
  host?: { cores: number; total_bytes: number; free_bytes: number; busy?: number; load?: number[] };
  gpus?: Gpu[];
}

function GpuGauges({ gpu }: { gpu: Gpu }) {
  return (
    <div className="gauges-device">
      <h3 title={gpu.model}>{gpu.device ?? `GPU ${gpu.gpu}`} <span className="secondary">{gpu.model}</span></h3>
      <Meter label={jobs.watts(gpu.watts, gpu.celsius)} share={gpu.busy} value={jobs.percent(gpu.busy)} state="ok" />
      <Meter label={jobs.gpuMemory} share={gpu.used_bytes / Math.max(1, gpu.total_bytes)} value={jobs.used(bytes(gpu.used_bytes), bytes(gpu.total_bytes))} />
    </div>
  );
}

// What the devices are doing now. A service that does not tell it gets no place for it.
export function Gauges() {
  const { value } = useAnswer<DeviceGauges>('/api/devices', 2000);
  const host = value?.host;
  if (!value || !host) return null;
  const used = host.total_bytes - host.free_bytes;
  const load = host.load?.[0];
  return (
    <section className="gauges" aria-label={jobs.devices} tabIndex={0}>
      <h2>{jobs.devices}</h2>
      {(value.gpus ?? []).map((gpu) => <GpuGauges key={gpu.gpu} gpu={gpu} />)}
      <div className="gauges-device">
        <h3>{jobs.cores} <span className="secondary">{jobs.processor(host.cores)}</span></h3>
        {host.busy !== undefined && <Meter label={load === undefined ? jobs.cores : jobs.load(load.toFixed(1))} share={host.busy} value={jobs.percent(host.busy)} state="ok" />}
        <Meter label={jobs.memory} share={used / Math.max(1, host.total_bytes)} value={jobs.used(bytes(used), bytes(host.total_bytes))} />
      </div>
    </section>
  );
}
