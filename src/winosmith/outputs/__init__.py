"""Write files and folders so that nothing is half-written, overwritten or lost.

A folder that winosmith wrote holds a manifest, `winosmith.json`: the recipe, and the files that
were finished with their checksums. The files below `private/` stand in a manifest of their own
there: the checksum of a short answer file is enough to find the answers by trying.

The rules (`OutputFolder.open`):

- a new or empty folder is taken;
- ours, with the same recipe, resumes: finished files stay;
- ours, with another recipe, is refused with the differences; `force` replaces only the files
  that its manifest names;
- not ours and not empty is refused, even with `force`.

Files are written aside and renamed when they are complete, so a crash leaves either the old file
or the new one.
"""

from __future__ import annotations

from winosmith.outputs._files import sha256, told, write_aside
from winosmith.outputs._folder import MANIFEST, PRIVATE, OutputFolder

__all__ = ["MANIFEST", "PRIVATE", "OutputFolder", "sha256", "told", "write_aside"]
