"""The browser that tests of pages drive."""

import shutil

#: Where Chromium is; None where it is not installed.
CHROMIUM = next(
    (found for found in map(shutil.which, ("chromium", "chromium-browser", "google-chrome")) if found), None
)
