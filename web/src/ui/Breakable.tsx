import { Fragment } from 'react';

// A name such as AnomalyDetectionMetrics may be broken before its capitals.
export function Breakable({ words }: { words: string }) {
  return words.split(/(?<=[a-z])(?=[A-Z])/).map((part, place) => <Fragment key={place}>{place > 0 && <wbr />}{part}</Fragment>);
}
