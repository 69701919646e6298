import type { ReactNode } from 'react';

export type Fact = [name: string, value: ReactNode];

// Names and values below each other; those without a value are left out.
export function Facts({ facts }: { facts: (Fact | null)[] }) {
  const shown = facts.filter((fact): fact is Fact => fact !== null && fact[1] !== null && fact[1] !== undefined && fact[1] !== '');
  return (
    <dl className="facts">
      {shown.map(([name, value]) => (
        <div key={name}>
          <dt>{name}</dt>
          <dd className="num">{value}</dd>
        </div>
      ))}
    </dl>
  );
}
