"""As much of CVXPY as Gavel's policies use, on HiGHS: Debian has no CVXPY.

Expressions are affine in all variables: a matrix and a constant for each
element. `min` of an expression may only be maximised.
"""

import types

import numpy as np
import scipy.optimize


class _Affine:
    __array_ufunc__ = None  # So that numpy leaves <= to this class.
    all_variables = []

    def __init__(self, terms, constant, shape):
        self.terms = terms  # By variable: elements x elements of the variable.
        self.constant = constant
        self.shape = shape

    def _linear(self, matrix, shape):
        return _Affine({v: matrix @ t for v, t in self.terms.items()},
                       matrix @ self.constant, shape)

    def __getitem__(self, index):
        picked = np.arange(self.constant.size).reshape(self.shape)[index]
        return self._linear(np.eye(self.constant.size)[np.ravel(picked)],
                            np.shape(picked))

    def __le__(self, limit):
        return self, np.broadcast_to(limit, self.shape).ravel()

    def __ge__(self, limit):
        return self._linear(-np.eye(self.constant.size), self.shape).__le__(
            -np.asarray(limit, float))


class _Variable(_Affine):
    def __init__(self, shape):
        size = int(np.prod(shape))
        super().__init__({self: np.eye(size)}, np.zeros(size), shape)
        self.value = None


class _Least:
    def __init__(self, of):
        self.of = of


def _multiply(factors, expression):
    factors = np.broadcast_to(factors, expression.shape).ravel()
    return expression._linear(np.diag(factors), expression.shape)


def _sum(expression, axis=None):
    indices = np.arange(expression.constant.size).reshape(expression.shape)
    rows = ([indices.ravel()] if axis is None
            else np.moveaxis(indices, axis, -1).reshape(-1, indices.shape[axis]))
    matrix = np.zeros((len(rows), expression.constant.size))
    for row, of in enumerate(rows):
        matrix[row, of] = 1
    return expression._linear(matrix, () if axis is None else (len(rows),))


class _Problem:
    def __init__(self, objective, constraints):
        self._objective = objective  # Of Maximize.
        self._constraints = constraints
        self.status = None

    def solve(self, **_):
        least = isinstance(self._objective, _Least)
        goal = self._objective.of if least else self._objective
        (variable,) = goal.terms
        size = variable.constant.size
        rows = [np.hstack([e.terms[variable], np.zeros((e.constant.size, 1))])
                for e, _ in self._constraints]
        limits = [limit - e.constant for e, limit in self._constraints]
        cost = np.zeros(size + 1)
        if least:  # A last column is at most each element.
            cost[-1] = -1
            rows.append(np.hstack([-goal.terms[variable],
                                   np.ones((goal.constant.size, 1))]))
            limits.append(goal.constant)
        else:
            cost[:-1] = -goal.terms[variable].ravel()
        solved = scipy.optimize.linprog(
            cost, A_ub=np.vstack(rows), b_ub=np.concatenate(limits),
            bounds=(None, None) if least else [(None, None)] * size + [(0, 0)],
            method="highs")
        self.status = "optimal" if solved.status == 0 else solved.message
        if solved.status == 0:
            variable.value = solved.x[:-1].reshape(variable.shape)
        return -solved.fun


def module():
    """Returns a module to import in the place of cvxpy."""
    made = types.ModuleType("cvxpy")
    made.__dict__.update(
        Variable=_Variable, multiply=_multiply, sum=_sum, min=_Least,
        Maximize=lambda goal: goal, Problem=_Problem)
    return made
