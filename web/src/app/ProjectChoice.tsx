import { text } from '../text';
import { switchProject, useProject } from './project';

// The project one works in; a choice, if the token belongs to several.
export function ProjectChoice() {
  const { project, all } = useProject();
  if (!project) return <span className="secondary">{text.app.noProject}</span>;
  if (all.length === 1) return <span className="secondary project" title={text.app.project}>{project.name}</span>;
  return (
    <select className="input small project" aria-label={text.app.project} title={text.app.project} value={project.id} onChange={(event) => switchProject(event.target.value)}>
      {all.map((each) => <option key={each.id} value={each.id}>{each.name}</option>)}
    </select>
  );
}
