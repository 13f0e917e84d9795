# Two targets for newcomers: `make demo` and `make test`. Both do all the set-up themselves.
.PHONY: demo test check setup docs nightly kernels release clean

demo: setup
	.venv/bin/stackbuild build --recipe debian-13

test: setup
	ci/test --docker

check: setup
	ci/check

docs: setup
	ci/docs

kernels: setup
	ci/kernels

nightly: setup
	ci/test --docker --slow --network
	CAMPAIGN_EXECUTIONS=1000000 .venv/bin/python ci/campaign run

release: setup
	ci/release

setup:
	@ci/setup

clean:
	rm -rf .venv dist build
