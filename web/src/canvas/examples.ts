import bostonHousing from '../../../examples/boston_housing.yaml?raw';
import bostonRidge from '../../../examples/boston_ridge.yaml?raw';
import blobs from '../../../examples/blobs.yaml?raw';
import temporal from '../../../examples/temporal.yaml?raw';
import sweep from '../../../examples/sweep.yaml?raw';
import trainingStep from '../../../examples/seed_training_step.json?raw';
import spectralStress from '../../../examples/spectral_stress.yaml?raw';
import triangulation from '../../../examples/triangulation.yaml?raw';

// The documents of examples/, as they stand.
export const examples = [
  { name: 'boston_housing', title: 'Boston housing', content: bostonHousing },
  { name: 'boston_ridge', title: 'Boston, ridge', content: bostonRidge },
  { name: 'blobs', title: 'Blobs', content: blobs },
  { name: 'temporal', title: 'Temporal', content: temporal },
  { name: 'sweep', title: 'Sweep', content: sweep },
  { name: 'triangulation', title: 'Triangulation', content: triangulation },
  { name: 'spectral_stress', title: 'Spectral stress', content: spectralStress },
  { name: 'seed_training_step', title: 'One training step', content: trainingStep },
];
