import { text } from '../text';

export default function RunsPage({ id: _id }: { id?: string }) {
  return <div className="lone">{text.unbuilt}</div>;
}
