// Counts side by side, the highest as high as there is room.
export function Distribution({ counts, label }: { counts: readonly number[]; label: string }) {
  const most = Math.max(1, ...counts);
  return (
    <svg className="distribution" viewBox={`0 0 ${counts.length} 1`} preserveAspectRatio="none" role="img" aria-label={label}>
      {counts.map((count, place) => {
        const height = count === 0 ? 0 : Math.max(0.04, count / most);
        return <rect key={place} x={place + 0.08} width={0.84} y={1 - height} height={height} />;
      })}
    </svg>
  );
}
