interface MeterProps {
  label: string;
  share: number; // 0 to 1
  value: string; // what stands beside the name
  state?: 'ok' | 'run' | 'bad';
}

// A bar of how much of something is used or done, with its name and number above.
export function Meter({ label, share, value, state = 'run' }: MeterProps) {
  const percent = Math.round(100 * Math.min(1, Math.max(0, share)));
  return (
    <div className="meter">
      <div className="meter-head"><span>{label}</span><span className="num">{value}</span></div>
      <div className="meter-bar" role="meter" aria-label={label} aria-valuemin={0} aria-valuemax={100} aria-valuenow={percent} aria-valuetext={value}>
        <i className={state} style={{ width: `${percent}%` }} />
      </div>
    </div>
  );
}
