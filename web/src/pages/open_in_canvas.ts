import { post } from '../api/client';
import type { SavedDocument } from '../api/types';
import { useProject } from '../app/project';
import { navigate } from '../app/router';

// Saves a document as a new one and opens it: what is on the canvas already stays where it is.
export async function openCopyInCanvas(name: string, content: string): Promise<void> {
  const project = useProject.getState().project?.id ?? '';
  const saved = await post<SavedDocument>(`/api/projects/${project}/documents`, { name, content });
  navigate(`/documents/${saved.id}`);
}
