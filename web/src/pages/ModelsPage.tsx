import { text } from '../text';

export default function ModelsPage({ id: _id }: { id?: string }) {
  return <div className="lone">{text.unbuilt}</div>;
}
