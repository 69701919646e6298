import { get, post } from '../api/client';
import type { Project, SavedDocument } from '../api/types';
import { navigate } from '../app/router';
import { text } from '../text';

// Saves a document as a new one and opens it: what is on the canvas already stays where it is.
export async function openCopyInCanvas(name: string, content: string): Promise<void> {
  const { projects } = await get<{ projects: Project[] }>('/api/projects');
  const project = projects[0] ?? (await post<Project>('/api/projects', { name: text.documents.firstProject }));
  const saved = await post<SavedDocument>(`/api/projects/${project.id}/documents`, { name, content });
  navigate(`/documents/${saved.id}`);
}
