"""Entry point of `python ci/campaign`: puts `ci` and `tests` on the path, where the frame and the test support lie."""

import sys
from pathlib import Path

CI = Path(__file__).resolve().parent.parent
sys.path[:1] = [str(CI), str(CI.parent / "tests"), str(CI.parent)]

if __name__ == "__main__":
    from campaign.command import main

    sys.exit(main(sys.argv[1:]))
